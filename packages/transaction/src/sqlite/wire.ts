import type { Clock } from '../core/clock.js';
import { connectionLost, TransactionError } from '../core/errors.js';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import type { Language, Wire } from '../driver/driver.js';
import { retryIfBusy, translated } from './errors.js';
import { allowsWriting } from './statement.js';

/** A connection to the file, used by one caller after the other. Every call blocks until SQLite has finished. */
export interface SqliteSession {
  readonly isOpen: boolean;
  /** For statements of our own: no parameters, no rows. */
  exec(sql: string): void;
  rollbackIfOpen(): void;
  /** As `Wire.send()`. */
  run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): ExecuteResult<never>;
}

export interface SqliteCheckout {
  readonly clock: Clock;
  /** How long BEGIN waits for another process that writes. */
  readonly busyTimeoutMs: number;
  /** It sees one snapshot and never waits, and cannot begin a transaction that writes. */
  readonly reader?: boolean;
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
  translate: (error, isLost) => (isLost ? connectionLost(error, '08003') : translated(error)),
};

/** One checkout of a session. A wait that its user cancelled or left stays unwanted for the next user, too. */
export class SqliteWire implements Wire {
  readonly synchronous = true;
  readonly #session: SqliteSession;
  readonly #checkout: SqliteCheckout;
  #readOnly = false;
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
    if (params) return this.#session.run(sql, params, options);
    const result = { rows: [], rowCount: null, command: sql, fields: [] };
    if (sql.startsWith('BEGIN')) return this.#begin(sql)?.then(() => result) ?? result;
    if (sql === 'ROLLBACK') this.#session.rollbackIfOpen();
    else this.#session.exec(sql);
    return result;
  }

  /** Statements block until they are done, so all there is to stop is the wait for another process at BEGIN. */
  cancel(): void {
    this.#isWanted = false;
  }

  release(): void {
    this.#isWanted = false;
    if (this.isLost) return;
    this.#session.rollbackIfOpen();
    this.#setReadOnly(false);
  }

  #begin(sql: string): void | Promise<void> {
    const { clock, busyTimeoutMs: timeoutMs, reader = false } = this.#checkout;
    const readOnly = sql === 'BEGIN';
    if (reader && !readOnly) {
      const what = 'A connection acquired with readOnly cannot begin a transaction that writes';
      throw new TransactionError('AMBIT_TX_OPTION', what);
    }
    const begin = (): void => {
      if (!reader) this.#setReadOnly(readOnly);
      this.#session.exec(sql);
    };
    try {
      begin();
      return undefined;
    } catch (error) {
      return retryIfBusy(begin, error, { clock, timeoutMs, isWanted: () => this.#isWanted });
    }
  }

  /** SQLite then prepares every statement again, which costs more than most transactions, so only where it changes. */
  #setReadOnly(on: boolean): void {
    if (on === this.#readOnly) return;
    this.#session.exec(`PRAGMA query_only = ${on ? 'ON' : 'OFF'}`);
    this.#readOnly = on;
  }
}
