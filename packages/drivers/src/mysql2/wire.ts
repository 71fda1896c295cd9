import { type ExecuteOptions, type ExecuteResult, TransactionError } from '@ambit/transaction';
import {
  commandOf,
  countsRows,
  MYSQL,
  type PositionalTexts,
  wantsArrays,
  type Wire,
} from '@ambit/transaction/extension';
import { isFatal } from './language.js';

/** The members of a connection of `mysql2/promise` that the pool uses. */
export interface Mysql2Connection {
  /**
   * Sends a statement of this package, such as COMMIT.
   *
   * @param sql - the statement
   * @returns the result and the fields
   */
  query(sql: string): Promise<unknown>;
  /**
   * Prepares and runs a statement of the application.
   *
   * @param options - the `QueryOptions` of mysql2, with the statement and its values
   * @param values - not used
   * @returns the result and the fields
   */
  execute(options: never, values?: never): Promise<unknown>;
  /** Returns the connection to its pool. */
  release(): void;
  /** Closes the connection: it may be broken. */
  destroy(): void;
  /** The number of the session, for `KILL QUERY`. */
  readonly threadId?: number | null;
}

/** The members of a pool of `mysql2/promise` that ours uses. */
export interface Mysql2Pool {
  /**
   * Checks a connection out.
   *
   * @returns the connection
   */
  getConnection(): Promise<Mysql2Connection>;
  /** Closes all connections. */
  end(): Promise<void>;
}

type Response = readonly [
  rows: unknown[] | { readonly affectedRows: number; readonly insertId: number | string },
  fields?: readonly { name: string }[],
];

export class Mysql2Wire implements Wire {
  isLost = false;
  readonly #connection: Mysql2Connection;
  readonly #texts: PositionalTexts;
  readonly #pool: Mysql2Pool;

  constructor(connection: Mysql2Connection, pool: Mysql2Pool, texts: PositionalTexts) {
    this.#connection = connection;
    this.#pool = pool;
    this.#texts = texts;
  }

  async send(sql: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    const rowsAsArray = wantsArrays(options);
    try {
      const [rows, fields] = await (params ? this.#execute(sql, params, rowsAsArray) : this.#query(sql));
      const command = commandOf(sql, MYSQL);
      if (!Array.isArray(rows)) return { ...resultOf(command, rows.affectedRows), ...insertIdOf(rows.insertId) };
      const names = (fields ?? []).map(({ name }) => ({ name }));
      return { ...resultOf(command, rows.length), rows: rows as never[], fields: names };
    } catch (error) {
      this.isLost ||= isFatal(error);
      throw error;
    }
  }

  /** MySQL stops a statement only when another connection asks for it; where the pool has no other, the statement goes on. */
  cancel(): void {
    const { threadId } = this.#connection;
    if (threadId) void killQuery(this.#pool, threadId).catch(() => undefined);
  }

  release(possiblyBroken: boolean): void {
    if (possiblyBroken || this.isLost) this.#connection.destroy();
    else this.#connection.release();
  }

  /** Prepared, so the server itself binds the values and refuses a second statement. */
  #execute(sql: string, params: readonly unknown[], rowsAsArray: boolean): Promise<Response> {
    const { text, values } = this.#texts.translate(sql, params, mysqlValue);
    // Integers beyond the safe range are given as text.
    const config = { sql: text, values, rowsAsArray, supportBigNumbers: true, bigNumberStrings: false };
    return this.#connection.execute(config as never) as Promise<Response>;
  }

  #query(sql: string): Promise<Response> {
    return this.#connection.query(sql) as Promise<Response>;
  }
}

async function killQuery(pool: Mysql2Pool, threadId: number): Promise<void> {
  const connection = await pool.getConnection();
  try {
    await connection.query(`KILL QUERY ${threadId}`);
  } finally {
    connection.release();
  }
}

function resultOf(command: string, count: number): ExecuteResult<never> {
  return { rows: [], rowCount: countsRows(command) ? count : null, command, fields: [] };
}

/** The server says 0 where no id was given; an id beyond the safe range is text. */
function insertIdOf(id: number | string): { insertId?: number } {
  return Number(id) > 0 ? { insertId: Number(id) } : {};
}

/** A value for the driver, and what PostgreSQL would refuse is refused here too. */
function mysqlValue(value: unknown, position: number): unknown {
  if (typeof value === 'string' && value.includes('\0')) throw refused(position, 'has a NUL character', '22021');
  if (typeof value === 'number' && Number.isNaN(value)) throw refused(position, 'is not a number', '22003');
  return value ?? null;
}

function refused(position: number, why: string, sqlState: string): TransactionError {
  return new TransactionError('AMBIT_TX_PARAMETER', `Parameter $${position} ${why}`, { sqlState });
}
