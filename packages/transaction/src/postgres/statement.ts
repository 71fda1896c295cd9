import { createHash } from 'node:crypto';
import { Query, type QueryConfig, type QueryResult, types as driverTypes } from 'pg';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { isPlain } from '../sql/control-statements.js';
import { leavesSessionState } from './session-state.js';

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

/** What the driver hands over but does not declare. */
interface CopyingConnection {
  sendCopyFail(why: string): void;
  sync(): void;
}

const declaredNowhere = Query.prototype as unknown as { hasBeenParsed(connection: unknown): unknown };

/**
 * The driver's own statement, made without options where there are none: of options it would first make a copy, property by
 * property, and that costs as much as sending the statement.
 */
export class Statement extends Query {
  /** Named, the server parses and plans it once per connection. */
  name: string | undefined = undefined;
  /** A user's: the extended protocol takes one statement only, with parameters or without. */
  queryMode: 'extended' | undefined = undefined;
  /** The server was asked to run what it had parsed before. */
  reused = false;

  constructor(text: string, params: readonly unknown[] | undefined, options?: ExecuteOptions) {
    const hasOptions = options?.types !== undefined || options?.rowMode === 'array';
    super(
      hasOptions ? (configOf(text, params, options) as QueryConfig) : text,
      hasOptions ? undefined : (params as unknown[]),
    );
    if (params) this.queryMode = 'extended';
  }

  declare readonly text: string;
  declare callback: (error: Error | undefined, result: QueryResult) => void;

  hasBeenParsed(connection: unknown): boolean {
    return (this.reused = Boolean(declaredNowhere.hasBeenParsed.call(this, connection)));
  }

  /** The server has passed over the Sync that came with the COPY, and after a failure reads nothing before another. */
  handleCopyInResponse(connection: CopyingConnection): void {
    connection.sendCopyFail('query() has nothing to copy from');
    connection.sync();
  }
}

function configOf(text: string, params: readonly unknown[] | undefined, { rowMode, types }: ExecuteOptions): object {
  const parsers = types && { types: safely(types, driverTypes) };
  return { text, values: params, rowMode, ...parsers };
}

/** The server and the driver keep every name for as long as the connection is open, so only so many are given. */
const MOST_NAMES = 500;

/**
 * Gives each statement text one name, so that the server parses and plans it once per connection. The name is made from
 * the text: behind a pooler that mixes up the connections of several programs, it can be missing, but never be another's.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();
  /** How often a text was renewed. */
  readonly #renewals = new Map<string, number>();
  #given = 0;

  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    if (this.#given >= MOST_NAMES || !isPlain(sql) || leavesSessionState(sql)) return undefined;
    const renewals = this.#renewals.get(sql);
    const hash = createHash('sha256').update(sql).digest('hex').slice(0, 32);
    const name = renewals === undefined ? `ambit_${hash}` : `ambit_${hash}_${renewals}`;
    this.#names.set(sql, name);
    this.#given += 1;
    return name;
  }

  /** What the server has prepared under the name no longer fits its tables: every connection prepares it again. */
  renew(sql: string): void {
    if (this.#names.delete(sql)) this.#renewals.set(sql, (this.#renewals.get(sql) ?? 0) + 1);
  }
}
