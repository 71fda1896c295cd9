import Libsql from 'libsql';
import { TransactionError } from '../errors.js';
import { numberedParameters, splitStatements } from '../sql-text.js';
import { translated } from './errors.js';
import { sqliteValues } from './parameters.js';

/** Blocks the event loop, so it is for the moment of opening only: two processes may set up one file at once. */
const OPENING_BUSY_MS = 5000;
const MOST_STATEMENTS = 200;

interface Prepared {
  readonly statement: { all(params: readonly unknown[]): unknown[]; run(params: readonly unknown[]): unknown };
  /** Where there are no rows to ask for, not to ask for them is cheaper. */
  readonly givesRows: boolean;
  readonly count: number;
}

/** One libsql connection and its prepared statements. Every call blocks until SQLite has answered. */
export class SqliteDatabase {
  readonly #path: string;
  readonly #readOnly: boolean;
  /** In the order in which they were prepared, so the first is the one to forget. */
  readonly #statements = new Map<string, Prepared>();
  #libsql: InstanceType<typeof Libsql>;

  constructor(path: string, { readOnly = false } = {}) {
    this.#path = path;
    this.#readOnly = readOnly;
    this.#libsql = this.#open();
  }

  get inTransaction(): boolean {
    return this.#libsql.inTransaction;
  }

  /** The driver's own error is thrown, so that a caller may try again when it says busy. */
  run<R extends object>(sql: string, params: readonly unknown[] = []): R[] {
    const { statement, givesRows, count } = this.#prepare(sql);
    const values = sqliteValues(params, count);
    if (!givesRows) {
      statement.run(values);
      return [];
    }
    const rows = statement.all(values) as R[];
    for (const row of rows) bytesAsBuffers(row);
    return rows;
  }

  /** For statements of our own: no parameters, no rows. */
  exec(sql: string): void {
    this.#libsql.exec(sql);
  }

  rollbackIfOpen(): void {
    if (this.inTransaction) this.exec('ROLLBACK');
  }

  /** For a connection that cannot even roll back. libsql keeps the old one's file handles, so this must stay rare. */
  reopen(): void {
    this.close();
    this.#libsql = this.#open();
  }

  close(): void {
    this.#statements.clear();
    this.#libsql.close();
  }

  #open(): InstanceType<typeof Libsql> {
    try {
      const libsql = new Libsql(this.#path, { timeout: OPENING_BUSY_MS });
      libsql.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0',
      );
      if (this.#readOnly) libsql.exec('PRAGMA query_only = ON');
      return libsql;
    } catch (error) {
      const cause = new Error(`Could not open ${this.#path}`, { cause: translated(error) });
      throw new TransactionError('AMBIT_TX_ACQUIRE_FAILED', 'SQLite could not open the file', { cause });
    }
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql);
    if (known) return known;
    // libsql would run the first and forget the rest.
    if (splitStatements(sql).length > 1) throw severalStatements();
    const { text, count } = numberedParameters(sql);
    const statement = this.#libsql.prepare(text);
    const prepared = { statement, givesRows: statement.reader, count };
    this.#statements.set(sql, prepared);
    const [oldest] = this.#statements.keys();
    if (this.#statements.size > MOST_STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
    return prepared;
  }
}

/** libsql gives an ArrayBuffer where every other driver gives a Buffer. */
function bytesAsBuffers(row: object): void {
  const cells = row as Record<string, unknown>;
  for (const name in cells) {
    const value = cells[name];
    if (value instanceof ArrayBuffer) cells[name] = Buffer.from(value);
  }
}

function severalStatements(): TransactionError {
  return new TransactionError(
    'AMBIT_TX_STATEMENT_FAILED',
    'query() takes one statement; splitStatements() makes them of a script',
    {
      sqlState: '42601',
    },
  );
}
