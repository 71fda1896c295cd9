import type { AcquireOptions, ExecuteResult } from '../core/contract.js';
import type { TransactionError } from '../core/errors.js';
import type { Driver, Wire } from '../pool/driver.js';
import { SqliteDatabase } from './database.js';
import { isBusy, isReadOnlyRefusal, retryIfBusy, translated } from './errors.js';
import type { SqliteSettings } from './options.js';
import { SQLITE_LANGUAGE, SqliteWire } from './wire.js';

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
  readonly #settings: SqliteSettings;
  readonly #writer: SqliteDatabase;
  /** For single reads: they block, so one is enough, and it is always free. */
  readonly #reader: SqliteDatabase | undefined;
  /** For read-only transactions, opened when first wanted. */
  readonly #snapshots: SqliteDatabase[] = [];
  readonly #idle: SqliteDatabase[] = [];
  /** Statements that the reader has refused once. */
  readonly #knownWrites = new Set<string>();

  constructor(settings: SqliteSettings) {
    const { path, maxReaders } = settings;
    this.#settings = settings;
    this.#writer = new SqliteDatabase(path);
    if (path === ':memory:') return;
    this.#reader = new SqliteDatabase(path, { readOnly: true });
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
    const read = (): Result => reader.run(sql, params, options, { alone: true });
    try {
      return read();
    } catch (error) {
      return isReadOnlyRefusal(error) ? this.#isWrite(sql) : this.#readLater(sql, read, error);
    } finally {
      reader.cleanUp();
    }
  }

  async close(): Promise<void> {
    for (const database of [this.#writer, ...this.#snapshots]) database.rollbackIfOpen();
    for (const database of this.#snapshots) database.close();
    this.#reader?.close();
    // libsql does not do it: it keeps a connection that has had statements.
    this.#writer.checkpoint();
    this.#writer.close();
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
      return this.#writer.run(sql, params, options, { alone: true });
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

  #openSnapshot(): SqliteDatabase {
    const opened = new SqliteDatabase(this.#settings.path, { readOnly: true });
    this.#snapshots.push(opened);
    return opened;
  }
}
