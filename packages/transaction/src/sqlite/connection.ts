import type { Clock } from '../clock.js';
import type { ExecuteOptions, ExecuteResult } from '../contract.js';
import { nothingToCommit, notInTransaction, TransactionError, warnOfLeftOpen } from '../errors.js';
import { wantsArrays } from '../options.js';
import type { Wire } from '../pool/driver.js';
import { commandOf, countsRows } from '../sql/command.js';
import { SQLITE } from '../sql/lexer.js';
import { PositionalText } from '../sql/positional.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import type { SqliteEngine, SqliteEngineStatement } from './engine.js';
import { isBusy, retryIfBusy } from './errors.js';
import type { WatchedFile } from './file.js';
import { changesSession, SET_BACK_SQL, staysWithConnection } from './language.js';
import { rowsOf } from './values.js';

type Result = ExecuteResult<never>;

const MOST_STATEMENTS = 200;

interface SqliteConnectionOptions {
  readonly clock: Clock;
  /** Undefined in memory. */
  readonly file?: WatchedFile | undefined;
  /** Opens the connection again after its session state was discarded; without it there is no other, as in memory. */
  readonly reopen?: () => SqliteEngine;
  /** Its transactions see one snapshot and never wait, and cannot write. */
  readonly isReader?: boolean;
  readonly onRelease?: (connection: SqliteConnection) => void;
}

/** One connection, used by one caller after the other, and its prepared statements. Every call blocks until SQLite has finished. */
export class SqliteConnection implements Wire {
  readonly synchronous = true;
  isLost = false;
  /** The state after the last statement: SQLite rolls the whole transaction back after some errors. */
  outsideTransaction = true;
  readonly #options: SqliteConnectionOptions;
  /** In the order in which they were prepared, so the first is the one to forget. */
  readonly #statements = new Map<string, Statement>();
  #engine: SqliteEngine;
  #reopen: (() => SqliteEngine) | undefined;
  /** A statement has left something that must not reach the next user of the connection. */
  #changed = false;
  #readOnly = false;
  /** The time that BEGIN, or a statement outside of a transaction, waits for another process that writes. */
  #busyTimeoutMs = 0;
  /** A wait that its user cancelled or left stays unwanted for the next user, too. */
  #waits = 0;

  constructor(engine: SqliteEngine, options: SqliteConnectionOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#reopen = options.reopen;
  }

  checkOut(busyTimeoutMs: number): this {
    this.#busyTimeoutMs = busyTimeoutMs;
    this.isLost = this.#isClosed;
    return this;
  }

  send(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Result | Promise<Result> {
    const mayWait = this.outsideTransaction;
    try {
      return this.#attempt(sql, params, options);
    } catch (error) {
      this.isLost = this.#isClosed;
      this.outsideTransaction ||= this.#isOver;
      if (!mayWait || !isBusy(error)) throw error;
      return this.#sendLater(() => this.#attempt(sql, params, options), error);
    }
  }

  /** The driver's own error is thrown, so that a caller may try again when it says busy. */
  run(sql: string, params: readonly unknown[] = [], options?: ExecuteOptions): Result {
    const asArrays = options !== undefined && wantsArrays(options);
    if (this.outsideTransaction) this.#getReady();
    else if (this.#isOver) throw notInTransaction();
    const { prepared, positional, command, isCounted, names } = this.#statements.get(sql) ?? this.#prepare(sql);
    const values = positional.inOrder(params);
    if (!prepared.isReader) {
      const { changes, lastInsertRowid } = prepared.run(values);
      const result = { rows: [], rowCount: isCounted ? Number(changes) : null, command, fields: [] };
      // Without an INSERT it is that of an earlier one.
      return command === 'INSERT' && Number(changes) > 0 ? { ...result, insertId: Number(lastInsertRowid) } : result;
    }
    const rows = prepared.all(values);
    const columns = names ?? prepared.columns();
    return {
      rows: rowsOf(rows, asArrays ? undefined : columns) as never[],
      rowCount: isCounted ? rows.length : null,
      command,
      fields: options ? columns.map((name) => ({ name })) : [],
    };
  }

  /** Statements block until they are done, so all there is to stop is the wait for another process. */
  cancel(): void {
    this.#waits += 1;
  }

  release(): void {
    this.#waits += 1;
    try {
      if (!this.outsideTransaction) this.rollbackIfOpen();
      if (this.#readOnly) this.#setReadOnly(false);
      this.cleanUp();
    } catch {
      // It cannot even roll back; the next user opens another.
      this.#discard();
    }
    this.outsideTransaction = true;
    this.#options.onRelease?.(this);
  }

  rollbackIfOpen(): void {
    if (this.#engine.isOpen && this.#engine.inTransaction) this.#engine.exec('ROLLBACK');
  }

  /** Before the next user: session state is discarded with its connection, or set back where there is no other. */
  cleanUp(): void {
    if (!this.#changed) return;
    if (this.#reopen) this.#discard();
    else this.#engine.exec(SET_BACK_SQL);
    this.#changed = false;
  }

  /** Moves what is committed from the `-wal` file into the database, as far as other processes let us. */
  checkpoint(): void {
    try {
      if (this.#engine.isOpen) this.#engine.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // It is as durable in the one as in the other.
    }
  }

  close(): void {
    this.isLost = true;
    this.#reopen = undefined;
    this.#statements.clear();
    this.#engine.close();
  }

  #attempt(sql: string, params: readonly unknown[] | undefined, options: ExecuteOptions | undefined): Result {
    return params ? this.run(sql, params, options) : this.#control(sql);
  }

  /** Sends it as soon as no other process is in the way. */
  #sendLater(attempt: () => Result, busy: unknown): Promise<Result> {
    const wait = this.#waits;
    const isWanted = (): boolean => wait === this.#waits;
    return retryIfBusy(attempt, busy, { clock: this.#options.clock, timeoutMs: this.#busyTimeoutMs, isWanted });
  }

  get #isClosed(): boolean {
    return !this.#reopen && !this.#engine.isOpen;
  }

  /** SQLite, or another user of the driver, has completed the transaction. */
  get #isOver(): boolean {
    return this.#engine.isOpen && !this.#engine.inTransaction;
  }

  /** Checks the file, and opens it again if it was closed, before BEGIN and before a statement outside of a transaction. */
  #getReady(): void {
    this.#options.file?.check();
    if (this.#reopen && !this.#engine.isOpen) this.#engine = this.#reopen();
    if (!this.#engine.inTransaction) return;
    // Its statements would be stored with ours, or ours be lost with it.
    warnOfLeftOpen();
    this.rollbackIfOpen();
  }

  #control(sql: string): Result {
    if (sql.startsWith('BEGIN')) this.#begin(sql);
    else if (sql === 'ROLLBACK') this.rollbackIfOpen();
    else this.#commit(sql);
    this.outsideTransaction = !sql.startsWith('BEGIN');
    return { rows: [], rowCount: null, command: sql, fields: [] };
  }

  #begin(sql: string): void {
    const readOnly = sql === 'BEGIN';
    if (this.#options.isReader && !readOnly) {
      const what = 'A connection acquired with readOnly cannot begin a transaction that writes';
      throw new TransactionError('AMBIT_OPTION', what);
    }
    this.#getReady();
    // SQLite then prepares every statement again, which costs more than most transactions.
    if (readOnly !== this.#readOnly && !this.#options.isReader) this.#setReadOnly(readOnly);
    this.#engine.exec(sql);
  }

  #commit(sql: string): void {
    this.#options.file?.check();
    if (this.#isOver) throw nothingToCommit();
    this.#engine.exec(sql);
  }

  #setReadOnly(on: boolean): void {
    this.#engine.exec(`PRAGMA query_only = ${on ? 'ON' : 'OFF'}`);
    this.#readOnly = on;
  }

  #discard(): void {
    if (!this.#reopen) return;
    this.#changed = this.#readOnly = false;
    this.#statements.clear();
    this.#engine.close();
  }

  #prepare(sql: string): Statement {
    // Some take effect as soon as they are prepared.
    const changes = changesSession(sql);
    if (changes && !this.#reopen && staysWithConnection(sql)) throw refusedSetting();
    this.#changed ||= changes;
    const statement = prepare(this.#engine, sql);
    // The plan that EXPLAIN shows names tables by memory that is free once they have changed.
    if (changes || statement.command === 'EXPLAIN') return statement;
    this.#statements.set(sql, statement);
    const [oldest] = this.#statements.keys();
    if (this.#statements.size > MOST_STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
    return statement;
  }
}

/** All columns of a table, whose names change with it. `count(*)` has none. */
const ALL_COLUMNS = /(?<!\(\s*)\*/;

/** One statement of an application, prepared on one connection. */
interface Statement {
  readonly prepared: SqliteEngineStatement;
  readonly positional: PositionalText;
  readonly command: string;
  readonly isCounted: boolean;
  /** Undefined where they are asked for after each execution, because they may have changed. */
  readonly names: readonly string[] | undefined;
}

function prepare(engine: SqliteEngine, sql: string): Statement {
  // SQLite would run the first and forget the rest.
  if (isScriptInSqlite(sql)) throw severalStatements();
  const positional = new PositionalText(sql, SQLITE);
  const prepared = engine.prepare(positional.text);
  const command = commandOf(sql, SQLITE);
  const names = prepared.isReader && !ALL_COLUMNS.test(sql) ? prepared.columns() : undefined;
  return { prepared, positional, command, isCounted: countsRows(command), names };
}

export function severalStatements(): TransactionError {
  const what = 'query() takes one statement; splitStatements() makes them of a script';
  return new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '42601' });
}

export function refusedSetting(): TransactionError {
  const what =
    'The pool has one connection, and its next users would inherit what the statement leaves: set it on the database itself, before the pool is made';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what, { sqlState: '0A000' });
}
