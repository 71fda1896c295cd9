import type { AcquireOptions, BeginOptions, ExecuteOptions, ExecuteResult } from '../core/contract.js';
import type { TransactionError } from '../core/errors.js';

/** One connection of a driver, while it is checked out. It throws the driver's own errors, or `TransactionError`s. */
export interface Wire {
  /** The connection is closed: nothing more can be sent, and the database has rolled back. */
  readonly isLost: boolean;
  /** Why, where the driver says so. */
  readonly lostBecause?: unknown;
  /** No transaction is open, where the server says so with every response. */
  readonly outsideTransaction?: boolean;
  /** In a transaction, every `send()` has finished when the call returns. */
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
  readonly isolationSql?: string | undefined;
  /** Whether the statement leaves something in the connection that must not reach its next user. */
  leavesSessionState(sql: string): boolean;
  /** Throws where the database would commit the open transaction by itself, or the like; never for a SELECT, INSERT or the like. */
  check?(sql: string, where: { readonly inTransaction: boolean; readonly readOnly: boolean }): void;
  /** The error with a code of ours and an SQLSTATE. */
  translate(error: unknown, where: { readonly isLost: boolean; readonly readOnly: boolean }): TransactionError;
}

/** How many connections a driver has. */
interface Connections {
  readonly open: number;
  /** Default: those that are not checked out. */
  readonly idle?: number;
}

/** Where a pool gets its connections. */
export interface Driver {
  readonly language: Language;
  /** How many connections there may be. */
  readonly max: number;
  /** How many there may be besides, for those who ask for a connection that only reads. Default: they get one of the others. */
  readonly maxReaders?: number;
  /** What the callers wait for, in the message of the time-out. */
  readonly name?: string;
  /** Default: those that are checked out. */
  readonly size?: Connections;
  connect(options: AcquireOptions): Promise<Wire> | Wire;
  /** The error for a caller without a connection: with why the driver refused it, or with nothing where it took too long. */
  noConnection?(refusal?: { readonly cause: unknown }): TransactionError;
  /**
   * The result of a statement outside of every transaction that needs no connection of its own; nothing where it needs one.
   * `isFree` where nobody else has a connection to write with.
   */
  alone?(
    statement: { sql: string; params: readonly unknown[] | undefined; options: ExecuteOptions | undefined },
    isFree: boolean,
  ): ExecuteResult<never> | undefined | Promise<ExecuteResult<never> | undefined>;
  /** `ms` is for what does not end by itself. */
  close(ms: number): Promise<void>;
}
