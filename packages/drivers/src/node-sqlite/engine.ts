import { TransactionError } from '@ambit/transaction';
import type { SqliteEngine, SqliteEngineStatement } from '@ambit/transaction/extension';

interface NodeStatement {
  all(...values: never[]): unknown[];
  run(...values: never[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  columns(): { name: string }[];
  setReadBigInts(on: boolean): void;
  setReturnArrays?(on: boolean): void;
}

/** The members of `DatabaseSync` of `node:sqlite` that the pool uses. */
export interface NodeSqlite {
  /** False once it is closed. */
  readonly isOpen: boolean;
  /** Whether a transaction is open. */
  readonly isTransaction: boolean;
  /**
   * Runs a statement of this package, such as BEGIN.
   *
   * @param sql - the statement
   */
  exec(sql: string): void;
  /**
   * Prepares a statement of the application.
   *
   * @param sql - the statement
   * @returns a `StatementSync` of `node:sqlite`
   */
  prepare(sql: string): object;
  /** Closes the database. */
  close(): void;
}

/** Node gives SQLite's extended result codes as numbers; these are those that SQLite's own names are needed for. */
const NAMES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  9: 'SQLITE_INTERRUPT',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
  275: 'SQLITE_CONSTRAINT_CHECK',
  787: 'SQLITE_CONSTRAINT_FOREIGNKEY',
  1299: 'SQLITE_CONSTRAINT_NOTNULL',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
  2579: 'SQLITE_CONSTRAINT_ROWID',
};

export class NodeSqliteEngine implements SqliteEngine {
  readonly #database: NodeSqlite;

  constructor(database: NodeSqlite) {
    this.#database = database;
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  exec(sql: string): void {
    named(() => this.#database.exec(sql));
  }

  prepare(sql: string): SqliteEngineStatement {
    const statement = named(() => this.#database.prepare(sql)) as NodeStatement;
    statement.setReadBigInts(true);
    if (!statement.setReturnArrays) throw tooOld();
    statement.setReturnArrays(true);
    return {
      isReader: statement.columns().length > 0,
      columns: () => statement.columns().map(({ name }) => name),
      all: (values) => named(() => statement.all(...(values as never[]))) as unknown[][],
      run: (values) => named(() => statement.run(...(values as never[]))),
    };
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }
}

/** The errors of Node, with the name of SQLite's result code as their code. */
function named<T>(call: () => T): T {
  try {
    return call();
  } catch (cause) {
    const { errcode } = cause as { errcode?: number };
    if (errcode === undefined) throw cause;
    const code = NAMES[errcode] ?? NAMES[errcode & 0xff] ?? 'SQLITE_ERROR';
    throw Object.assign(new Error((cause as Error).message, { cause }), { code });
  }
}

function tooOld(): TransactionError {
  return new TransactionError('AMBIT_TX_UNSUPPORTED', 'node:sqlite gives rows as arrays from Node 22.16 and 24 on');
}
