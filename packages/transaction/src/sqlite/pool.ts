import { within } from '../core/clock.js';
import { publishedOutside, statementOutside } from '../core/events.js';
import type {
  AcquireOptions,
  AfterBegin,
  DatabasePool,
  ExecuteOptions,
  ExecuteResult,
  PoolSize,
  Row,
} from '../core/contract.js';
import type { TransactionError } from '../core/errors.js';
import { DriverConnection } from '../driver/connection.js';
import { type Leave, WaitQueue } from '../pool/wait-queue.js';
import { SqliteDatabase } from './database.js';
import { isReadOnlyRefusal, retryIfBusy } from './errors.js';
import { readSqliteOptions, type SqlitePoolOptions, type SqliteSettings } from './options.js';
import { SQLITE_LANGUAGE, SqliteWire } from './wire.js';

const MOST_KNOWN_WRITES = 1000;

/**
 * One writer, handed out in turn, and readers that never wait. In `:memory:` there is one connection for all, so
 * there a read waits for the transaction that is open.
 */
export class SqlitePool implements DatabasePool {
  readonly afterBegin: AfterBegin | undefined;
  readonly #settings: SqliteSettings;
  readonly #writer: SqliteDatabase;
  /** For single reads: they block, so one is enough, and it is always free. */
  readonly #reader: SqliteDatabase | undefined;
  /** For read-only transactions, opened when first wanted. */
  readonly #snapshots: SqliteDatabase[] = [];
  readonly #idle: SqliteDatabase[] = [];
  readonly #writers: WaitQueue;
  readonly #readers: WaitQueue;
  /** Statements that the reader has refused once. */
  readonly #knownWrites = new Set<string>();
  #closing: Promise<void> | undefined;

  constructor(options: SqlitePoolOptions) {
    this.#settings = readSqliteOptions(options);
    const { afterBegin, path, maxReaders } = this.#settings;
    this.afterBegin = afterBegin;
    this.#writer = new SqliteDatabase(path);
    this.#reader = path === ':memory:' ? undefined : new SqliteDatabase(path, { readOnly: true });
    this.#writers = new WaitQueue(1, this.#settings);
    this.#readers = new WaitQueue(maxReaders, this.#settings);
  }

  get size(): PoolSize {
    const open = 1 + this.#snapshots.length;
    const waiting = this.#writers.waiting + this.#readers.waiting;
    return { open, idle: open - this.#writers.taken - this.#readers.taken, waiting };
  }

  async getConnection(options: AcquireOptions = {}): Promise<DriverConnection> {
    const { clock, acquireTimeoutMs } = this.#settings;
    const { timeoutMs: busyTimeoutMs = acquireTimeoutMs, readOnly = false } = options;
    const reader = readOnly && this.#reader !== undefined;
    const line = reader ? this.#readers : this.#writers;
    const place = line.enter(options, busyTimeoutMs);
    const leave = place instanceof Promise ? await place : place;
    const database = reader ? this.#snapshot(leave) : this.#writer;
    const wire = new SqliteWire(database, { clock, busyTimeoutMs, reader });
    const onRelease = (): void => {
      try {
        wire.release();
        database.cleanUp();
      } catch {
        database.discard();
      }
      if (reader) this.#idle.push(database);
      leave();
    };
    return new DriverConnection(wire, SQLITE_LANGUAGE, readOnly, onRelease);
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#published(sql, (database) => database.query<R>(sql, params, { alone: true }));
  }

  async execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    return this.#published(sql, (database) => database.execute<R>(sql, params, options, { alone: true }));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #published<T>(sql: string, run: (database: SqliteDatabase) => T): Promise<T> {
    if (!statementOutside.hasSubscribers) return this.#alone(sql, run);
    return publishedOutside(sql, () => this.#alone(sql, run));
  }

  /** One statement outside of every transaction: on the reading connection, unless it turns out to write. */
  async #alone<T>(sql: string, run: (database: SqliteDatabase) => T): Promise<T> {
    const reader = this.#reader;
    if (!reader || this.#closing || this.#knownWrites.has(sql)) return this.#write(run);
    try {
      return await this.#whenFree(() => run(reader));
    } catch (error) {
      if (!isReadOnlyRefusal((error as TransactionError).cause)) throw error;
    } finally {
      reader.cleanUp();
    }
    // SQLite itself distinguishes a read from a write: the reading connection refuses to write, before anything happened.
    if (this.#knownWrites.size >= MOST_KNOWN_WRITES) this.#knownWrites.clear();
    this.#knownWrites.add(sql);
    return this.#write(run);
  }

  async #write<T>(run: (database: SqliteDatabase) => T): Promise<T> {
    const leave = await this.#writers.enter(undefined, this.#settings.acquireTimeoutMs);
    try {
      return await this.#whenFree(() => run(this.#writer));
    } finally {
      this.#writer.cleanUp();
      leave();
    }
  }

  /** At once, or as soon as no other process is in the way. */
  #whenFree<T>(run: () => T): T | Promise<T> {
    try {
      return run();
    } catch (error) {
      const { acquireTimeoutMs: timeoutMs, clock } = this.#settings;
      return retryIfBusy(run, error, { clock, timeoutMs });
    }
  }

  #snapshot(leave: Leave): SqliteDatabase {
    const free = this.#idle.pop();
    if (free) return free;
    try {
      const opened = new SqliteDatabase(this.#settings.path, { readOnly: true });
      this.#snapshots.push(opened);
      return opened;
    } catch (error) {
      leave();
      throw error;
    }
  }

  async #close(): Promise<void> {
    const { clock, closeTimeoutMs } = this.#settings;
    this.#writers.close();
    this.#readers.close();
    const returned = Promise.all([this.#writers.empty(), this.#readers.empty()]);
    await within(clock, closeTimeoutMs, returned, () => new Error('overdue')).catch(() => undefined);
    for (const database of [this.#writer, ...this.#snapshots]) database.rollbackIfOpen();
    for (const database of this.#snapshots) database.close();
    this.#reader?.close();
    // libsql does not do it: it keeps a connection that has had statements.
    this.#writer.checkpoint();
    this.#writer.close();
  }
}
