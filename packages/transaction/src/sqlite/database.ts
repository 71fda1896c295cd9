import Libsql from 'libsql';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { savepointAlone, TransactionError } from '../core/errors.js';
import { wantsArrays } from '../core/options.js';
import { DescribedStatement, PreparedStatement } from './statement.js';
import { isBusy, leavesStatementBusy } from './errors.js';
import { cannotOpen, checkFile } from './file.js';
import type { SqliteSession } from './wire.js';

/** Blocks the event loop, so it is for the moment of opening only: two processes may set up one file at once. */
const OPENING_BUSY_MS = 5000;
const MOST_STATEMENTS = 200;

interface Use {
  /** The statement is a transaction of its own. */
  readonly alone?: boolean;
}

/** One libsql connection and its prepared statements. Every call blocks until SQLite has finished. */
export class SqliteDatabase implements SqliteSession {
  /** One that was closed says so itself: its errors are those of a closed pool. */
  readonly isOpen = true;
  readonly #path: string;
  readonly #readOnly: boolean;
  /** In the order in which they were prepared, so the first is the one to forget. */
  readonly #statements = new Map<string, PreparedStatement>();
  readonly #described = new Map<string, DescribedStatement>();
  #libsql: InstanceType<typeof Libsql>;
  /** How and what was run that found the file busy. Until it is run again or its connection is closed, no COMMIT succeeds. */
  #busyStatement: string | undefined;
  /** A statement has left something that must not reach the next user of the connection. */
  #sessionChanged = false;
  /** A transaction that may write is open: the file's write lock is ours. */
  #locked = false;
  #closed = false;

  constructor(path: string, { readOnly = false } = {}) {
    this.#path = path;
    this.#readOnly = readOnly;
    this.#libsql = this.#open();
  }

  get #inTransaction(): boolean {
    // Asked for a closed connection, the driver aborts the process.
    return this.#libsql.open && this.#libsql.inTransaction;
  }

  /** The driver's own error is thrown, so that a caller may try again when it says busy. */
  #query(sql: string, params: readonly unknown[], { alone = false }: Use): never[] {
    this.#discardBusy(sql);
    try {
      const rows = this.#prepare(sql, alone).run(params, this.#locked) as never[];
      this.#busyStatement = undefined;
      return rows;
    } catch (error) {
      if (leavesStatementBusy(error)) this.#busyStatement = sql;
      throw error;
    }
  }

  /** By a prepared statement of its own. */
  #execute(
    sql: string,
    params: readonly unknown[],
    options: ExecuteOptions,
    { alone = false }: Use,
  ): ExecuteResult<never> {
    const asArrays = wantsArrays(options);
    const name = `execute ${sql}`;
    this.#discardBusy(name);
    try {
      const prepared = this.#prepare(sql, alone);
      const described =
        this.#described.get(sql) ?? remember(this.#described, sql, new DescribedStatement(prepared, sql));
      const result = described.execute(params, asArrays);
      this.#busyStatement = undefined;
      return result;
    } catch (error) {
      if (leavesStatementBusy(error)) this.#busyStatement = name;
      throw error;
    }
  }

  run(sql: string, params: readonly unknown[], options?: ExecuteOptions, use: Use = {}): ExecuteResult<never> {
    if (options) return this.#execute(sql, params, options, use);
    return { rows: this.#query(sql, params, use), rowCount: null, command: '', fields: [] };
  }

  exec(sql: string): void {
    this.#discardBusy(sql);
    try {
      this.#usable().exec(sql);
    } catch (error) {
      // A statement of this connection is still in progress, and would make every later COMMIT fail, too.
      if (sql === 'COMMIT' && isBusy(error)) this.#sessionChanged = true;
      throw error;
    }
    if (!sql.startsWith('PRAGMA')) this.#locked = sql === 'BEGIN IMMEDIATE';
  }

  rollbackIfOpen(): void {
    this.#locked = false;
    if (this.#inTransaction) this.exec('ROLLBACK');
  }

  /** Before the next user: session state is discarded with its connection, except in memory, where the connection is the database. */
  cleanUp(): void {
    if (!this.#sessionChanged || this.#path === ':memory:') return;
    this.#sessionChanged = false;
    this.discard();
  }

  /** For a connection that cannot even roll back; the next use opens another. libsql keeps file handles: keep it rare. */
  discard(): void {
    this.#busyStatement = undefined;
    this.#statements.clear();
    this.#described.clear();
    if (this.#libsql.open) this.#libsql.close();
  }

  close(): void {
    this.#closed = true;
    this.discard();
  }

  /** Moves what is committed from the `-wal` file into the database, as far as other processes let us. */
  checkpoint(): void {
    try {
      if (this.#libsql.open) this.#libsql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // It is as durable in the one as in the other.
    }
  }

  #discardBusy(sql: string): void {
    if (this.#busyStatement !== undefined && this.#busyStatement !== sql && !this.#inTransaction) this.discard();
  }

  #usable(): InstanceType<typeof Libsql> {
    // Closing has rolled back, so this is a definite response to a COMMIT too.
    if (this.#closed) throw new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool is closed', { sqlState: '08003' });
    if (!this.#libsql.open) this.#libsql = this.#open();
    return this.#libsql;
  }

  #open(): InstanceType<typeof Libsql> {
    checkFile(this.#path);
    try {
      const libsql = new Libsql(this.#path, { timeout: OPENING_BUSY_MS });
      libsql.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0',
      );
      // Reads the schema, so that a damaged file is found now.
      libsql.exec('SELECT 1 FROM sqlite_schema LIMIT 1');
      if (this.#readOnly) libsql.exec('PRAGMA query_only = ON');
      return libsql;
    } catch (error) {
      throw cannotOpen(this.#path, error);
    }
  }

  #prepare(sql: string, alone: boolean): PreparedStatement {
    const statement = this.#prepared(sql);
    if (alone && statement.needsTransaction) throw savepointAlone();
    if (statement.changesSession) this.#sessionChanged = true;
    return statement;
  }

  #prepared(sql: string): PreparedStatement {
    return this.#statements.get(sql) ?? remember(this.#statements, sql, new PreparedStatement(this.#usable(), sql));
  }
}

function remember<T>(statements: Map<string, T>, sql: string, statement: T): T {
  statements.set(sql, statement);
  const [oldest] = statements.keys();
  if (statements.size > MOST_STATEMENTS && oldest !== undefined) statements.delete(oldest);
  return statement;
}
