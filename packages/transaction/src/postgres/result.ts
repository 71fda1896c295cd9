import type { QueryResult } from 'pg';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';

export const resultOf = ({ rows, rowCount, command, fields }: QueryResult): ExecuteResult<never> => ({
  rows: rows as never[],
  rowCount,
  command,
  fields: fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })),
});

type Parsers = Required<ExecuteOptions>['types'];

/** The driver catches what a parser throws, but not what `getTypeParser()` itself throws: that would crash the process. */
export function safely(types: Parsers): Parsers {
  return {
    getTypeParser: (oid, format) => {
      try {
        return types.getTypeParser(oid, format);
      } catch (error) {
        return () => {
          throw error;
        };
      }
    },
  };
}
