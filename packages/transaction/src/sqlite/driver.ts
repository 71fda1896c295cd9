import type Libsql from 'libsql';
import type { Clock } from '../core/clock.js';
import { connectionLost, TransactionError } from '../core/errors.js';
import type { ExecuteOptions, ExecuteResult, AcquireOptions } from '../core/contract.js';
import type { Language, Wire, Driver } from '../pool/driver.js';
import { isBusy, retryIfBusy, translated, isReadOnlyRefusal } from './errors.js';
import { allowsWriting, SqliteDatabase } from './database.js';
import { OpenFiles } from './open-files.js';
import type { SqliteSettings } from './options.js';
import { checkWal } from './wal.js';

/** A connection to the file, used by one caller after the other. Every call blocks until SQLite has finished. */
export interface SqliteSession {
  readonly isOpen: boolean;
  readonly inTransaction: boolean;
  /** For statements of our own: no parameters, no rows. */
  exec(sql: string): void;
  rollbackIfOpen(): void;
  /** As `Wire.send()`. */
  run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): ExecuteResult<never>;
  /** Before the next user. */
  cleanUp?(): void;
  /** It cannot even roll back. */
  discard?(): void;
  /** Absent in memory. */
  readonly files?: OpenFiles | undefined;
}

export interface SqliteCheckout {
  readonly clock: Clock;
  /** How long BEGIN, or a statement outside of a transaction, waits for another process that writes. */
  readonly busyTimeoutMs: number;
  /** It sees one snapshot and never waits, and cannot begin a transaction that writes. */
  readonly reader?: boolean;
  readonly onRelease?: () => void;
}

export const SQLITE_LANGUAGE: Language = {
  /**
   * SQLite is always serialisable, which satisfies every level. A transaction that may write takes the lock at once, so that no
   * later statement can find it taken.
   */
  begin: ({ readOnly = false }) => [readOnly ? 'BEGIN' : 'BEGIN IMMEDIATE'],
  isolationSql: 'SELECT $1 AS isolation',
  check: (sql, { readOnly }) => {
    if (!readOnly || !allowsWriting(sql)) return;
    const what = 'A read-only connection cannot change query_only';
    throw new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '25006' });
  },
  leavesSessionState: () => false,
  translate: (error, { isLost }) => (isLost ? connectionLost(error, '08003') : translated(error)),
};

/** One checkout of a session. A wait that its user cancelled or left stays unwanted for the next user, too. */
export class SqliteWire implements Wire {
  readonly synchronous = true;
  readonly #session: SqliteSession;
  readonly #checkout: SqliteCheckout;
  #readOnly = false;
  #mayWrite = false;
  #inTransaction = false;
  #isWanted = true;

  constructor(session: SqliteSession, checkout: SqliteCheckout) {
    this.#session = session;
    this.#checkout = checkout;
  }

  get isLost(): boolean {
    return !this.#session.isOpen;
  }

  /** SQLite rolls the whole transaction back after some errors. */
  get outsideTransaction(): boolean {
    return !this.#session.inTransaction;
  }

  send(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): ExecuteResult<never> | Promise<ExecuteResult<never>> {
    try {
      return params ? this.#run(sql, params, options) : this.#control(sql);
    } catch (error) {
      if (this.#inTransaction) throw error;
      if (!isBusy(error)) {
        this.#session.files?.check();
        throw error;
      }
      const { clock, busyTimeoutMs: timeoutMs } = this.#checkout;
      const attempt = (): ExecuteResult<never> => (params ? this.#run(sql, params, options) : this.#control(sql));
      return retryIfBusy(attempt, error, { clock, timeoutMs, isWanted: () => this.#isWanted });
    }
  }

  /** Statements block until they are done, so all there is to stop is the wait for another process. */
  cancel(): void {
    this.#isWanted = false;
  }

  release(): void {
    this.#isWanted = false;
    const { onRelease } = this.#checkout;
    try {
      if (!this.isLost) this.#session.rollbackIfOpen();
      if (!this.isLost) this.#setReadOnly(false);
      this.#session.cleanUp?.();
    } catch {
      this.#session.discard?.();
    }
    onRelease?.();
  }

  #run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): ExecuteResult<never> {
    if (this.#inTransaction) return this.#session.run(sql, params, options);
    this.#beforeWork(this.#checkout.reader ?? false);
    const result = this.#session.run(sql, params, options);
    if (result.command !== 'SELECT') this.#afterWork();
    return result;
  }

  #control(sql: string): ExecuteResult<never> {
    if (sql.startsWith('BEGIN')) this.#begin(sql);
    else if (sql === 'ROLLBACK') this.#session.rollbackIfOpen();
    else this.#session.exec(sql);
    this.#inTransaction = sql.startsWith('BEGIN');
    if (sql === 'COMMIT') this.#afterWork();
    return { rows: [], rowCount: null, command: sql, fields: [] };
  }

  #begin(sql: string): void {
    const { reader = false } = this.#checkout;
    const readOnly = sql === 'BEGIN';
    if (reader && !readOnly) {
      const what = 'A connection acquired with readOnly cannot begin a transaction that writes';
      throw new TransactionError('AMBIT_OPTION', what);
    }
    this.#beforeWork(readOnly);
    if (!reader) this.#setReadOnly(readOnly);
    this.#session.exec(sql);
  }

  #beforeWork(readOnly: boolean): void {
    this.#mayWrite = !readOnly;
    const { files } = this.#session;
    if (readOnly) files?.beforeUse();
    else files?.watch();
  }

  #afterWork(): void {
    if (this.#mayWrite) this.#session.files?.watch();
  }

  /** SQLite then prepares every statement again, which costs more than most transactions, so only where it changes. */
  #setReadOnly(on: boolean): void {
    if (on === this.#readOnly) return;
    this.#session.exec(`PRAGMA query_only = ${on ? 'ON' : 'OFF'}`);
    this.#readOnly = on;
  }
}

const MOST_KNOWN_WRITES = 1000;

type Result = ExecuteResult<never>;
type Statement = Parameters<Required<Driver>['alone']>[0];

/**
 * One writer, handed out in turn, and readers that never wait. In `:memory:` there is one connection for all, so
 * there a read waits for the transaction that is open.
 */
export class SqliteDriver implements Driver {
  readonly language = SQLITE_LANGUAGE;
  readonly max = 1;
  readonly maxReaders?: number;
  readonly #libsql: typeof Libsql;
  readonly #settings: SqliteSettings;
  readonly #writer: SqliteDatabase;
  /** For single reads: they block, so one is enough, and it is always free. */
  readonly #reader: SqliteDatabase | undefined;
  /** For read-only transactions, opened when first wanted. */
  readonly #snapshots: SqliteDatabase[] = [];
  readonly #idle: SqliteDatabase[] = [];
  readonly #files: OpenFiles | undefined;
  /** Statements that the reader has refused once. */
  readonly #knownWrites = new Set<string>();

  constructor(libsql: typeof Libsql, settings: SqliteSettings) {
    const { path, maxReaders } = settings;
    this.#libsql = libsql;
    this.#settings = settings;
    if (path !== ':memory:') checkWal(path);
    this.#writer = new SqliteDatabase(libsql, path);
    if (path === ':memory:') return;
    this.#files = new OpenFiles(path, (pragma) => this.#writer.pragma(pragma), { readsContents: true });
    this.#writer.files = this.#files;
    this.#reader = this.#openReader();
    this.maxReaders = maxReaders;
  }

  get size(): { open: number } {
    return { open: 1 + this.#snapshots.length };
  }

  connect({ readOnly = false, timeoutMs: busyTimeoutMs = this.#settings.acquireTimeoutMs }: AcquireOptions): Wire {
    const { clock } = this.#settings;
    if (!readOnly || !this.#reader) return new SqliteWire(this.#writer, { clock, busyTimeoutMs });
    const snapshot = this.#idle.pop() ?? this.#openSnapshot();
    const onRelease = (): void => void this.#idle.push(snapshot);
    return new SqliteWire(snapshot, { clock, busyTimeoutMs, reader: true, onRelease });
  }

  /** SQLite itself distinguishes a read from a write: the reading connection refuses to write, before anything happened. */
  alone(statement: Statement, isFree: boolean): Result | undefined | Promise<Result | undefined> {
    const { sql, params = [], options } = statement;
    const reader = this.#reader;
    this.#files?.beforeUse();
    if (!reader || this.#knownWrites.has(sql)) return isFree ? this.#write(statement) : undefined;
    const read = (): Result => reader.run(sql, params, options);
    try {
      return read();
    } catch (error) {
      if (isReadOnlyRefusal(error)) return this.#isWrite(sql);
      // A table may be missing because the -wal that has it was cut.
      if (!isBusy(error)) this.#files?.check();
      return this.#readLater(sql, read, error);
    } finally {
      reader.cleanUp();
    }
  }

  async close(): Promise<void> {
    for (const database of [this.#writer, ...this.#snapshots]) database.rollbackIfOpen();
    for (const database of this.#snapshots) database.close();
    this.#reader?.close();
    // libsql does not do it: it keeps a connection that has had statements.
    if (!this.#files?.isDamaged) this.#writer.checkpoint();
    this.#writer.close();
    this.#files?.close();
  }

  /** As soon as no other process is in the way. */
  async #readLater(sql: string, read: () => Result, busy: unknown): Promise<Result | undefined> {
    const { acquireTimeoutMs: timeoutMs, clock } = this.#settings;
    try {
      return await retryIfBusy(read, busy, { clock, timeoutMs });
    } catch (error) {
      if (!isReadOnlyRefusal((error as TransactionError).cause)) throw error;
      return this.#isWrite(sql);
    } finally {
      this.#reader?.cleanUp();
    }
  }

  /** At once, since nobody else has the writer; where another process is in the way, the caller waits for it with a connection. */
  #write({ sql, params = [], options }: Statement): Result | undefined {
    try {
      this.#files?.watch();
      const result = this.#writer.run(sql, params, options);
      this.#files?.watch();
      return result;
    } catch (error) {
      if (isBusy(error)) return undefined;
      this.#files?.check();
      throw translated(error);
    } finally {
      this.#writer.cleanUp();
    }
  }

  #isWrite(sql: string): undefined {
    if (this.#knownWrites.size >= MOST_KNOWN_WRITES) this.#knownWrites.clear();
    this.#knownWrites.add(sql);
  }

  #openSnapshot(): SqliteDatabase {
    const opened = this.#openReader();
    this.#snapshots.push(opened);
    return opened;
  }

  #openReader(): SqliteDatabase {
    const opened = new SqliteDatabase(this.#libsql, this.#settings.path, { readOnly: true });
    opened.files = this.#files;
    return opened;
  }
}
