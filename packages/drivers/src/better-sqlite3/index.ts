import type { DatabasePool } from '@ambit/transaction';
import { type DriverPoolOptions, type SqliteEngine, sqlitePoolOver } from '@ambit/transaction/extension';

export type { DriverPoolOptions } from '@ambit/transaction/extension';

interface Statement {
  readonly reader: boolean;
  safeIntegers(on: boolean): unknown;
  raw(on: boolean): unknown;
  columns(): { name: string }[];
  all(...values: never[]): unknown[];
  run(...values: never[]): { changes: number; lastInsertRowid: number | bigint };
}

/** The members of a `Database` of better-sqlite3 that the pool uses. */
export interface BetterSqlite3 {
  /** False once it is closed. */
  readonly open: boolean;
  /** True while a transaction is open. */
  readonly inTransaction: boolean;
  /** Runs a statement of this package, such as BEGIN. */
  exec(sql: string): unknown;
  /** Prepares a statement of the application. */
  prepare(sql: string): object;
  /** Closes the database. */
  close(): unknown;
}

/**
 * A pool over better-sqlite3: one connection, handed out in turn.
 *
 * @param database - the open database; `close()` closes it, unless `keepOpen` is set
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { type BetterSqlite3, fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
 *
 * // database is a new Database('shop.db', { timeout: 0 }) of better-sqlite3.
 * const poolOver = (database: BetterSqlite3) => fromBetterSqlite3(database);
 * ```
 */
export function fromBetterSqlite3(database: BetterSqlite3, options: DriverPoolOptions = {}): DatabasePool {
  return sqlitePoolOver(engineOver(database), options);
}

function engineOver(database: BetterSqlite3): SqliteEngine {
  return {
    get isOpen() {
      return database.open;
    },
    get inTransaction() {
      return database.inTransaction;
    },
    exec: (sql) => void database.exec(sql),
    prepare: (sql) => {
      const statement = database.prepare(sql) as Statement;
      statement.safeIntegers(true);
      if (statement.reader) statement.raw(true);
      return {
        isReader: statement.reader,
        columns: () => statement.columns().map(({ name }) => name),
        all: (values) => statement.all(...(values as never[])) as unknown[][],
        run: (values) => statement.run(...(values as never[])),
      };
    },
    close: () => void database.close(),
  };
}
