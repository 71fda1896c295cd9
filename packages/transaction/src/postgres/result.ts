import type { QueryResult } from 'pg';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';

export const resultOf = ({ rows, rowCount, command, fields }: QueryResult): ExecuteResult<never> => ({
  rows: rows as never[],
  rowCount,
  command,
  fields: fields.map(({ name, dataTypeID }) => ({ name, dataTypeID })),
});

type Parsers = Required<ExecuteOptions>['types'];
type Parse = (text: string) => unknown;

/** The driver catches what a parser throws, but not what `getTypeParser()` itself throws: that would crash the process. */
export function safely(
  types: Parsers,
  ofDriver: { getTypeParser(oid: number, format?: never): unknown },
): { getTypeParser(oid: number, format?: string): Parse } {
  return {
    getTypeParser: (oid, format) => {
      try {
        return types.getTypeParser(oid, format) ?? (ofDriver.getTypeParser(oid, format as never) as Parse);
      } catch (error) {
        return () => {
          throw error;
        };
      }
    },
  };
}
