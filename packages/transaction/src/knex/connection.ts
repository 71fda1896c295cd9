import type { ExecuteOptions, ExecuteResult, IConnection } from '../core/contract.js';
import { rowsInChunks } from '../orm/rows-in-chunks.js';
import type { Savepoint } from '../transaction/savepoint.js';
import type { Transaction } from '../transaction/transaction.js';

/** An error of the transaction on its way through Knex, which writes the SQL and its values into the message of what it catches. */
export class CarriedError extends Error {
  readonly error: unknown;

  constructor(error: unknown) {
    super(error instanceof Error ? error.message : String(error), { cause: error });
    this.error = error;
  }
}

interface PgQuery extends ExecuteOptions {
  readonly text: string;
  readonly values: readonly unknown[];
}

type PgCallback = (error: CarriedError | null, result?: ExecuteResult) => void;
/** Called with what the `sqlite3` driver has in `this`. */
type SqliteCallback = (this: object | undefined, error: CarriedError | null, rows?: object[]) => void;

const SELECT = /^\s*(?:select|values|table)\b/i;

/**
 * What Knex takes for a connection of the driver: one query, or a transaction of Knex from its begin to its end. It has what
 * Knex calls of a client of `pg` (`query`) and of a database of `sqlite3` (`all`, `run`).
 */
export class KnexConnection {
  readonly savepoint: Savepoint;
  /** What a transaction of Knex was asked to be; a nested run cannot differ from the transaction around it. */
  readonly terms: object;
  readonly #connection: IConnection;

  constructor(transaction: Transaction, terms: object = {}) {
    this.#connection = transaction.connection;
    this.savepoint = transaction.createSavepoint();
    this.terms = terms;
  }

  query({ text, values, rowMode, types }: PgQuery, callback: PgCallback): void {
    const options = { ...(rowMode && { rowMode }), ...(types && { types }) };
    this.#execute(text, values, options).then(
      (result) => callback(null, result),
      (error: unknown) => callback(new CarriedError(error)),
    );
  }

  all(sql: string, values: readonly unknown[], callback: SqliteCallback): void {
    this.#execute(sql, values.map(forSqlite)).then(
      ({ rows }) => callback.call(undefined, null, rows),
      (error: unknown) => callback.call(undefined, new CarriedError(error)),
    );
  }

  run(sql: string, values: readonly unknown[], callback: SqliteCallback): void {
    this.#execute(sql, values.map(forSqlite)).then(
      ({ rowCount, insertId }) => callback.call({ lastID: insertId, changes: rowCount }, null),
      (error: unknown) => callback.call(undefined, new CarriedError(error)),
    );
  }

  /** One row after the other; of a SELECT so many at a time are in memory, where a `batchSize` is given. */
  async *rows(sql: string, values: readonly unknown[], batchSize?: number): AsyncGenerator<object, void, undefined> {
    if (batchSize === undefined || !SELECT.test(sql)) {
      const { rows } = await this.#execute(sql, values);
      return yield* rows;
    }
    // Where the reader stops early, nobody waits for a CLOSE, which fails after the end of a nested transaction: the database
    // closes the cursor with the transaction.
    const chunks = rowsInChunks(this.#connection, sql, values, batchSize);
    const next = (): ReturnType<typeof chunks.next> => this.savepoint.within(() => chunks.next());
    for (let chunk = await next(); !chunk.done; chunk = await next()) yield* chunk.value;
  }

  #execute(sql: string, values: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult> {
    return this.savepoint.within(() => this.#connection.execute(sql, values, options));
  }
}

/** Knex's drivers for SQLite store a date as its milliseconds. */
function forSqlite(value: unknown): unknown {
  return value instanceof Date ? value.valueOf() : value;
}
