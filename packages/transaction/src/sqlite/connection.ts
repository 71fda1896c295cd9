import type { Clock } from '../core/clock.js';
import type { BeginOptions, DatabaseConnection, ExecuteOptions, ExecuteResult, Row } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { publishedOutside, statementOutside } from '../core/events.js';
import { checkIsolation, wantsArrays } from '../core/options.js';
import { type SqliteDatabase, whenFree } from './database.js';
import { translated } from './errors.js';
import { allowsWriting } from './session-state.js';

export interface SqliteCheckout {
  readonly database: SqliteDatabase;
  /** A reader sees one snapshot and never waits; a writer takes the file's one write lock at BEGIN. */
  readonly reader: boolean;
  readonly clock: Clock;
  readonly busyTimeoutMs: number;
  readonly onReturn: () => void;
}

export class SqliteConnection implements DatabaseConnection {
  readonly synchronous = true;
  readonly #checkout: SqliteCheckout;
  #released = false;
  #cancelled = false;
  /** A connection that may write is set to `query_only` for now. */
  #heldBack = false;
  /** The file's write lock is ours. */
  #locked = false;

  constructor(checkout: SqliteCheckout) {
    this.#checkout = checkout;
  }

  /** SQLite is serialisable always, which is at least what every level asks for. */
  async beginTransaction({ isolation, readOnly = false }: BeginOptions = {}): Promise<void> {
    checkIsolation(isolation);
    const { database, reader, clock, busyTimeoutMs: timeoutMs } = this.#usable();
    if (reader && !readOnly) {
      throw new TransactionError(
        'AMBIT_TX_OPTION',
        'A connection acquired with readOnly cannot begin a transaction that writes',
      );
    }
    const begin = (): void => {
      if (readOnly && !reader) this.#holdBack(true);
      // A connection that may write asks for the lock at once, so that no later statement can find it taken.
      database.exec(readOnly ? 'BEGIN' : 'BEGIN IMMEDIATE');
    };
    const waiting = whenFree(begin, { clock, timeoutMs, isWanted: () => !this.#cancelled && !this.#released });
    if (waiting) await waiting;
    this.#locked = !readOnly;
  }

  async commit(): Promise<void> {
    const { database } = this.#usable();
    this.#locked = false;
    try {
      database.commit();
    } catch (error) {
      throw translated(error);
    }
  }

  async rollback(): Promise<void> {
    this.#locked = false;
    try {
      this.#usable().database.rollbackIfOpen();
    } catch (error) {
      throw translated(error);
    }
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const run = (): Promise<R[]> => this.#query(sql, params);
    return this.#isPublished ? publishedOutside(sql, run) : run();
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult<R>> {
    const run = (): Promise<ExecuteResult<R>> => this.#execute(sql, params, options);
    return this.#isPublished ? publishedOutside(sql, run) : run();
  }

  get #isPublished(): boolean {
    return statementOutside.hasSubscribers && !this.#released && !this.#checkout.database.inTransaction;
  }

  async #query<R extends object>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const database = this.#databaseFor(sql);
    try {
      return database.run<R>(sql, params, { locked: this.#locked });
    } catch (error) {
      throw translated(error);
    }
  }

  async #execute<R extends object>(
    sql: string,
    params: readonly unknown[] | undefined,
    options: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    const database = this.#databaseFor(sql);
    const asArrays = wantsArrays(options);
    try {
      return database.execute<R>(sql, params, { asArrays });
    } catch (error) {
      throw translated(error);
    }
  }

  /** Statements block until they are done, so all there is to stop is the wait for another process at BEGIN. */
  cancel(): void {
    this.#cancelled = true;
  }

  /** Rolls back an open transaction. `destroy` needs nothing more: afterwards the connection cannot be broken. */
  release(): void {
    if (this.#released) throw new TransactionError('AMBIT_TX_RELEASED', 'release() was called twice');
    this.#released = true;
    const { database, onReturn } = this.#checkout;
    try {
      database.rollbackIfOpen();
      if (this.#heldBack) this.#holdBack(false);
      database.cleanUp();
    } catch {
      database.discard();
    } finally {
      onReturn();
    }
  }

  /** SQLite then prepares every statement again, which costs more than most transactions, so only where it is needed. */
  #holdBack(on: boolean): void {
    this.#heldBack = on;
    this.#checkout.database.exec(`PRAGMA query_only = ${on ? 'ON' : 'OFF'}`);
  }

  #databaseFor(sql: string): SqliteDatabase {
    const { database, reader } = this.#usable();
    if (!(reader || this.#heldBack) || !allowsWriting(sql)) return database;
    const what = 'A read-only connection cannot change query_only';
    throw new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '25006' });
  }

  #usable(): SqliteCheckout {
    if (this.#released) throw new TransactionError('AMBIT_TX_RELEASED', 'The connection was used after its release');
    return this.#checkout;
  }
}
