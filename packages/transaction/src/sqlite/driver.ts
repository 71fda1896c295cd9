import type { Clock } from '../core/clock.js';
import { connectionLost, TransactionError, warnOfLeftOpen } from '../core/errors.js';
import type { ExecuteOptions, ExecuteResult, AcquireOptions } from '../core/contract.js';
import type { Language, Wire, Driver } from '../pool/driver.js';
import { KEEP_TO_ITSELF, losesCommits, type SqliteEngine, warnOfLosses } from './engine.js';
import { isBusy, isReadOnlyRefusal, retryIfBusy, translated } from './errors.js';
import { cannotOpen, checkFile, WatchedFile } from './file.js';
import type { SqliteLibrary } from './node-sqlite.js';
import type { SqliteSettings } from './options.js';
import { allowsWriting, SqliteSession } from './session.js';

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
      if (this.#inTransaction || !isBusy(error)) throw error;
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
      if (!this.isLost && !this.#checkout.reader) this.#session.setReadOnly(false);
      this.#session.cleanUp();
    } catch {
      this.#session.discard();
    }
    onRelease?.();
  }

  #run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): ExecuteResult<never> {
    if (!this.#inTransaction) this.#refuseForeign();
    return this.#session.run(sql, params, options);
  }

  #control(sql: string): ExecuteResult<never> {
    if (sql.startsWith('BEGIN')) this.#begin(sql);
    else if (sql === 'ROLLBACK') this.#session.rollbackIfOpen();
    else this.#session.exec(sql);
    this.#inTransaction = sql.startsWith('BEGIN');
    return { rows: [], rowCount: null, command: sql, fields: [] };
  }

  #begin(sql: string): void {
    const { reader = false } = this.#checkout;
    const readOnly = sql === 'BEGIN';
    if (reader && !readOnly) {
      const what = 'A connection acquired with readOnly cannot begin a transaction that writes';
      throw new TransactionError('AMBIT_OPTION', what);
    }
    this.#refuseForeign();
    if (!reader) this.#session.setReadOnly(readOnly);
    this.#session.exec(sql);
  }

  /** Its statements would be stored with ours, or ours be lost with it. */
  #refuseForeign(): void {
    if (!this.#session.inTransaction) return;
    warnOfLeftOpen();
    this.#session.rollbackIfOpen();
  }
}

const MOST_KNOWN_WRITES = 1000;

type Result = ExecuteResult<never>;
type Statement = Parameters<Required<Driver>['alone']>[0];

/** Blocks the event loop, so it is for the moment of opening only: two processes may set up one file at once. */
const OPENING_BUSY_MS = 5000;

/**
 * One writer, handed out in turn, and readers that never wait. In `:memory:`, and where the file must not be shared, there is one
 * connection for all: there a read waits for the transaction that is open.
 */
export class SqliteDriver implements Driver {
  readonly language = SQLITE_LANGUAGE;
  readonly max = 1;
  readonly maxReaders?: number;
  readonly #library: SqliteLibrary;
  readonly #settings: SqliteSettings;
  readonly #isAlone: boolean;
  readonly #file: WatchedFile | undefined;
  readonly #writer: SqliteSession;
  /** For single reads: they block, so one is enough, and it is always free. */
  readonly #reader: SqliteSession | undefined;
  /** For read-only transactions, opened when first wanted. */
  readonly #snapshots: SqliteSession[] = [];
  readonly #idle: SqliteSession[] = [];
  /** Statements that the reader has refused once. */
  readonly #knownWrites = new Set<string>();

  constructor(library: SqliteLibrary, settings: SqliteSettings) {
    const { path, clock, maxReaders } = settings;
    this.#library = library;
    this.#settings = settings;
    const isInMemory = path === ':memory:';
    this.#isAlone = !isInMemory && losesCommits(library.version);
    if (this.#isAlone) warnOfLosses(library.version);
    const writer = this.#open();
    this.#file = isInMemory ? undefined : new WatchedFile(path, clock);
    this.#writer = new SqliteSession(writer, {
      file: this.#file,
      ...(isInMemory ? {} : { reopen: () => this.#open() }),
    });
    if (isInMemory || this.#isAlone) return;
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
    if (!reader || this.#knownWrites.has(sql)) return isFree ? this.#write(statement) : undefined;
    const read = (): Result => reader.run(sql, params, options);
    try {
      return read();
    } catch (error) {
      if (isReadOnlyRefusal(error)) return this.#isWrite(sql);
      return this.#readLater(sql, read, error);
    } finally {
      reader.cleanUp();
    }
  }

  async close(): Promise<void> {
    const all = [...this.#snapshots, ...(this.#reader ? [this.#reader] : []), this.#writer];
    for (const session of all) session.rollbackIfOpen();
    // SQLite does it when the last connection is closed, but a driver may keep one until its statements are collected.
    this.#writer.checkpoint();
    for (const session of all) session.close();
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
      return this.#writer.run(sql, params, options);
    } catch (error) {
      if (isBusy(error)) return undefined;
      throw translated(error);
    } finally {
      this.#writer.cleanUp();
    }
  }

  #isWrite(sql: string): undefined {
    if (this.#knownWrites.size >= MOST_KNOWN_WRITES) this.#knownWrites.clear();
    this.#knownWrites.add(sql);
  }

  #openSnapshot(): SqliteSession {
    const opened = this.#openReader();
    this.#snapshots.push(opened);
    return opened;
  }

  #openReader(): SqliteSession {
    const open = (): SqliteEngine => this.#open('PRAGMA query_only = ON');
    return new SqliteSession(open(), { file: this.#file, reopen: open });
  }

  #open(furtherSetting = ''): SqliteEngine {
    const { path } = this.#settings;
    checkFile(path);
    let engine: SqliteEngine | undefined;
    try {
      engine = this.#library.open(path, OPENING_BUSY_MS);
      // Before the first access, so that no process is admitted meanwhile.
      if (this.#isAlone) engine.exec(KEEP_TO_ITSELF);
      engine.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0',
      );
      // Reads the schema, so that a damaged file is found now.
      engine.exec('SELECT 1 FROM sqlite_schema LIMIT 1');
      engine.exec(furtherSetting);
      return engine;
    } catch (error) {
      engine?.close();
      throw cannotOpen(path, error);
    }
  }
}
