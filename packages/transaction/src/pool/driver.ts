import type { AcquireOptions, BeginOptions, ExecuteOptions, ExecuteResult } from '../contract.js';
import type { TransactionError } from '../errors.js';

/** One connection of a driver, while it is checked out. It throws the driver's own errors, or `TransactionError`s. */
export interface Wire {
  /** The connection is closed: nothing more can be sent, and the database has rolled back. */
  readonly isLost: boolean;
  /** The reason, where the driver says so. */
  readonly lostBecause?: unknown;
  /** No transaction is open, where the server says so with every response. */
  readonly outsideTransaction?: boolean;
  /** At check-out: another user of the driver's pool left a transaction open, which the pool then rolls back and reports. */
  readonly isLeftOpen?: boolean;
  /** In a transaction, every `send()` has finished when the call returns. */
  readonly synchronous?: boolean;
  /**
   * Sends one statement.
   *
   * @param sql - the statement, with `$1 ... $n`
   * @param params - the values of `$1 ... $n`, as `value()` of the language gives them; without them it is a statement of the pool, such
   *   as COMMIT
   * @param options - how rows and values are given; without them only the rows are wanted
   * @returns the rows, how many there were, the command and the columns
   */
  send(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): ExecuteResult<never> | Promise<ExecuteResult<never>>;
  /** Asks the database to cancel the statement in progress. */
  cancel?(): void;
  /**
   * Called once, for the next user; one that may be broken, or is in a transaction, must not reach them as it is.
   *
   * @param possiblyBroken - close it instead
   * @returns a promise where it takes time; the place of the connection is free when it settles
   */
  release(possiblyBroken: boolean): void | Promise<void>;
}

/** The differences between databases, whichever driver is used. */
export interface Language {
  /**
   * The statements that begin a transaction.
   *
   * @param options - the isolation, and whether it only reads
   * @returns the statements, in this order
   */
  begin(options: BeginOptions): readonly string[];
  /** Gives the level of the open transaction, where `$1` is asked for. */
  readonly isolationSql?: string | undefined;
  /**
   * Tells if a statement leaves something in the connection that must not reach its next user, who then gets another.
   *
   * @param sql - a statement of the application
   * @returns true where the connection is closed after its use
   */
  leavesSessionState(sql: string): boolean;
  /**
   * Throws where the database would commit the open transaction by itself, or the like; never for a SELECT, INSERT or the like.
   *
   * @param sql - a statement of the application
   * @param where - whether a transaction is open, and whether the connection only reads
   */
  check?(sql: string, where: { readonly inTransaction: boolean; readonly readOnly: boolean }): void;
  /**
   * A value as every driver of the database takes it; one that is taken already is returned as it is. Throws `refusedValue()` or the like
   * where the database would not keep it. It is not called for well-formed text without NUL characters, which every database keeps.
   *
   * @param value - a value of the application
   * @param position - the number of its parameter
   * @returns what `send()` of a wire is called with
   */
  readonly value?: (value: unknown, position: number) => unknown;
  /**
   * The error of a driver with a code of this package and an SQLSTATE.
   *
   * @param error - what `send()` of a wire threw
   * @param where - whether the connection is lost, and whether it only reads
   * @returns `refusedStatement()`, `connectionLost()` or another
   */
  translate(error: unknown, where: { readonly isLost: boolean; readonly readOnly: boolean }): TransactionError;
}

interface Connections {
  readonly open: number;
  /** Default: those that are not checked out. */
  readonly idle?: number;
}

/** A statement outside of every transaction; with options, all that `execute()` gives is wanted, without them the rows. */
export interface AloneStatement {
  readonly sql: string;
  readonly params: readonly unknown[] | undefined;
  readonly options: ExecuteOptions | undefined;
}

/** The source of a pool's connections. */
export interface Driver {
  /** The language of its database. */
  readonly language: Language;
  /** The most connections that may be open. */
  readonly max: number;
  /** How many there may be besides, for those who ask for a connection that only reads. Default: they get one of the others. */
  readonly maxReaders?: number;
  /** The name of what callers wait for, in the message of the time-out. */
  readonly name?: string;
  /** Default: those that are checked out. */
  readonly size?: Connections;
  /**
   * A connection for one caller, until it is released.
   *
   * @param options - what the caller asked `getConnection()` for
   * @returns the connection
   */
  connect(options: AcquireOptions): Promise<Wire> | Wire;
  /**
   * The error for a caller without a connection.
   *
   * @param refusal - why the driver refused it; nothing where it took too long
   * @returns the error
   */
  noConnection?(refusal?: { readonly cause: unknown }): TransactionError;
  /**
   * Runs a statement outside of every transaction that needs no connection of its own.
   *
   * @param statement - the statement, its values, and how its rows are given
   * @param isFree - nobody else has a connection to write with
   * @returns the result; nothing where the statement needs a connection
   */
  alone?(
    statement: AloneStatement,
    isFree: boolean,
  ): ExecuteResult<never> | undefined | Promise<ExecuteResult<never> | undefined>;
  /**
   * Closes the driver, once no connection is checked out.
   *
   * @param ms - how long it may wait for what does not end by itself
   */
  close(ms: number): Promise<void>;
}
