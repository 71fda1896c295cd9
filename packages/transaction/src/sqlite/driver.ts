import type { AcquireOptions, ExecuteResult } from '../contract.js';
import type { TransactionError } from '../errors.js';
import type { AloneStatement, Driver, Wire } from '../pool/driver.js';
import { SqliteConnection } from './connection.js';
import { KEEP_TO_ITSELF, losesCommits, type SqliteEngine, warnOfLosses } from './engine.js';
import { isBusy, isReadOnlyRefusal, retryIfBusy, translated } from './errors.js';
import { cannotOpen, checkFile, WatchedFile } from './file.js';
import { SQLITE_LANGUAGE } from './language.js';
import type { SqliteLibrary } from './node-sqlite.js';
import type { SqliteSettings } from './options.js';

const MOST_KNOWN_WRITES = 1000;

type Result = ExecuteResult<never>;

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
  readonly #writer: SqliteConnection;
  /** For single reads: they block, so one is enough, and it is always free. */
  readonly #reader: SqliteConnection | undefined;
  /** For read-only transactions, opened when first wanted. */
  readonly #snapshots: SqliteConnection[] = [];
  readonly #idle: SqliteConnection[] = [];
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
    const reopen = (): SqliteEngine => this.#open();
    this.#writer = new SqliteConnection(writer, { clock, file: this.#file, ...(isInMemory ? {} : { reopen }) });
    if (isInMemory || this.#isAlone) return;
    this.#reader = this.#openReader();
    this.maxReaders = maxReaders;
  }

  get size(): { open: number } {
    return { open: 1 + this.#snapshots.length };
  }

  connect({ readOnly = false, timeoutMs = this.#settings.acquireTimeoutMs }: AcquireOptions): Wire {
    const connection = readOnly && this.#reader ? (this.#idle.pop() ?? this.#openSnapshot()) : this.#writer;
    return connection.checkOut(timeoutMs);
  }

  /** SQLite itself distinguishes a read from a write: the reading connection refuses to write, before anything happened. */
  alone(statement: AloneStatement, isFree: boolean): Result | undefined | Promise<Result | undefined> {
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
    for (const connection of all) connection.rollbackIfOpen();
    // SQLite does it when the last connection is closed, but a driver may keep one until its statements are collected.
    this.#writer.checkpoint();
    for (const connection of all) connection.close();
  }

  /** Reads as soon as no other process is in the way. */
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
  #write({ sql, params = [], options }: AloneStatement): Result | undefined {
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

  #openSnapshot(): SqliteConnection {
    const opened = this.#openReader();
    this.#snapshots.push(opened);
    return opened;
  }

  #openReader(): SqliteConnection {
    const reopen = (): SqliteEngine => this.#open('PRAGMA query_only = ON');
    return new SqliteConnection(reopen(), {
      clock: this.#settings.clock,
      file: this.#file,
      reopen,
      isReader: true,
      onRelease: (snapshot) => void this.#idle.push(snapshot),
    });
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
