import type { AcquireOptions, BeginOptions, ExecuteOptions, ExecuteResult } from '../core/contract.js';
import type { TransactionError } from '../core/errors.js';

/** One connection of a driver, while it is checked out. What it throws are the driver's own errors. */
export interface Wire {
  /** The connection is closed: nothing more can be sent, and the database has rolled back. */
  readonly isLost: boolean;
  /** Why, where the driver says so. */
  readonly lostBecause?: unknown;
  /** Every `send()` but the first BEGIN has finished when the call returns. */
  readonly synchronous?: boolean;
  /** One statement; without `params` it is one of our own, without `options` only its rows are wanted. */
  send(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): ExecuteResult<never> | Promise<ExecuteResult<never>>;
  /** Asks the database to cancel the statement in progress. */
  cancel?(): void;
  /** Called once, for the next user; one that may be broken, or is in a transaction, must not reach them as it is. */
  release(possiblyBroken: boolean): void | Promise<void>;
}

/** What differs between databases, whichever driver is used. */
export interface Language {
  /** What begins a transaction. */
  begin(options: BeginOptions): readonly string[];
  /** Gives the level of the open transaction, where `$1` is asked for. */
  readonly isolationSql?: string;
  /** Whether the statement leaves something in the connection that must not reach its next user. */
  leavesSessionState(sql: string): boolean;
  /** Throws where the database would commit the open transaction by itself, or the like. */
  check?(sql: string, where: { readonly inTransaction: boolean; readonly readOnly: boolean }): void;
  /** The error with a code of ours and an SQLSTATE. */
  translate(error: unknown, isLost: boolean): TransactionError;
}

/** A pool of a driver. */
export interface Driver {
  readonly language: Language;
  /** How many connections there may be. */
  readonly max: number;
  readonly size?: { readonly open: number; readonly idle: number };
  connect(options: AcquireOptions): Promise<Wire> | Wire;
  /** `ms` is for what does not end by itself. */
  close(ms: number): Promise<void>;
}
