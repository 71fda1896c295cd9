import type { Clock } from '../core/clock.js';
import { connectionLost, TransactionError } from '../core/errors.js';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import type { Language, Wire } from '../pool/driver.js';
import { isBusy, retryIfBusy, translated } from './errors.js';
import { allowsWriting } from './statement.js';

/** A connection to the file, used by one caller after the other. Every call blocks until SQLite has finished. */
export interface SqliteSession {
  readonly isOpen: boolean;
  /** For statements of our own: no parameters, no rows. */
  exec(sql: string): void;
  rollbackIfOpen(): void;
  /** As `Wire.send()`. */
  run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): ExecuteResult<never>;
  /** Before the next user. */
  cleanUp?(): void;
  /** It cannot even roll back. */
  discard?(): void;
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
  /** SQLite is serialisable always, which is at least what every level asks for. A transaction that may write takes the lock at once, so that no later statement can find it taken. */
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
  #inTransaction = false;
  #isWanted = true;

  constructor(session: SqliteSession, checkout: SqliteCheckout) {
    this.#session = session;
    this.#checkout = checkout;
  }

  get isLost(): boolean {
    return !this.#session.isOpen;
  }

  send(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): ExecuteResult<never> | Promise<ExecuteResult<never>> {
    try {
      return params ? this.#session.run(sql, params, options) : this.#control(sql);
    } catch (error) {
      if (this.#inTransaction || !isBusy(error)) throw error;
      const { clock, busyTimeoutMs: timeoutMs } = this.#checkout;
      const attempt = (): ExecuteResult<never> =>
        params ? this.#session.run(sql, params, options) : this.#control(sql);
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
      throw new TransactionError('AMBIT_TX_OPTION', what);
    }
    if (!reader) this.#setReadOnly(readOnly);
    this.#session.exec(sql);
  }

  /** SQLite then prepares every statement again, which costs more than most transactions, so only where it changes. */
  #setReadOnly(on: boolean): void {
    if (on === this.#readOnly) return;
    this.#session.exec(`PRAGMA query_only = ${on ? 'ON' : 'OFF'}`);
    this.#readOnly = on;
  }
}
