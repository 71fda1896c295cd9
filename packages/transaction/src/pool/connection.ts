import {
  savepointAlone,
  isTransactionError,
  lostBefore,
  lostBeforeCommit,
  nothingToCommit,
  poolClosed,
  released,
  rolledBack,
  TransactionError,
  type TransactionErrorCode,
  withCallersStack,
} from '../core/errors.js';
import { isPlain, isSavepoint, refuseTransactionControl } from '../sql/control-statements.js';
import type { Language, Wire } from './driver.js';
import type { BeginOptions, DatabaseConnection, ExecuteOptions, ExecuteResult, Row } from '../core/contract.js';
import { publishedOutside, statementOutside } from '../core/events.js';
import type { Linked } from '../core/linked-list.js';
import { checkExecuteOptions, checkIsolation } from '../core/options.js';
import { StatementQueue } from '../core/statement-queue.js';

const MOST_TEXTS = 500;

interface Where {
  readonly inTransaction: boolean;
  readonly readOnly: boolean;
  /** The text is likely to be sent again. */
  readonly isKept: boolean;
}

/** What a pool looks for in the text of a statement. A text without any of it is known from then on, on every connection. */
export class TextCheck {
  readonly language: Language;
  readonly #harmless = new Set<string>();

  constructor(language: Language) {
    this.language = language;
  }

  isHarmless(sql: string): boolean {
    return this.#harmless.has(sql);
  }

  /** Throws what must not be sent. Returns whether the statement leaves something in its session. */
  leavesSessionState(sql: string, where: Where): boolean {
    refuseTransactionControl(sql);
    if (!where.inTransaction && isSavepoint(sql)) throw savepointAlone();
    this.language.check?.(sql, where);
    if (this.language.leavesSessionState(sql)) return true;
    if (where.isKept && isPlain(sql) && this.#harmless.size < MOST_TEXTS) this.#harmless.add(sql);
    return false;
  }
}

type Result = ExecuteResult<never>;

/** After these the connection is not used again: its server takes no writes, or a COMMIT may still be in progress. */
const LAST: ReadonlySet<TransactionErrorCode> = new Set(['AMBIT_TX_READ_ONLY', 'AMBIT_TX_OUTCOME_UNKNOWN'] as const);

const whole = (result: Result): Result => result;
const rowsOf = ({ rows }: Result): never[] => rows;

/** The connection of every pool: one statement at a time, none after the release, coded errors. */
export class PooledConnection implements DatabaseConnection, Linked<PooledConnection> {
  /** Its neighbours in the list of connections that are checked out. */
  earlier: PooledConnection | undefined = undefined;
  later: PooledConnection | undefined = undefined;
  readonly synchronous: boolean;
  readonly #wire: Wire;
  readonly #texts: TextCheck;
  readonly #onRelease: (possiblyBroken: boolean) => void;
  /** The caller asked for a connection to read with. */
  readonly #isForReading: boolean;
  /** A driver may queue by itself, but a release can refuse only the statements that still wait here. */
  readonly #queue = new StatementQueue();
  #inTransaction = false;
  /** The error of a statement that was rejected because the connection was lost; the driver may notice it later. */
  #lost: TransactionError | undefined = undefined;
  #readOnly: boolean;
  #released = false;
  /** The pool was closed, and stopped waiting for the release. */
  #takenAway = false;
  /** Then it is not used again. */
  #possiblyBroken = false;

  constructor(wire: Wire, texts: TextCheck, isForReading: boolean, onRelease: (possiblyBroken: boolean) => void) {
    this.#wire = wire;
    this.synchronous = wire.synchronous ?? false;
    this.#texts = texts;
    this.#isForReading = this.#readOnly = isForReading;
    this.#onRelease = onRelease;
  }

  get isolationSql(): string | undefined {
    return this.#texts.language.isolationSql;
  }

  async beginTransaction(options: BeginOptions = {}): Promise<void> {
    checkIsolation(options.isolation);
    for (const sql of this.#texts.language.begin(options)) await this.#send(whole, sql);
    this.#inTransaction = true;
    this.#readOnly = options.readOnly ?? this.#isForReading;
  }

  async commit(): Promise<void> {
    // Nothing is sent. The SQLSTATE says so; without one the outcome would count as unknown.
    if (this.#released) throw released({ sqlState: '08003' });
    if (this.#takenAway) throw poolClosed();
    if (this.#isLost) throw lostBeforeCommit(this.#lostBecause);
    if (!this.#inTransaction || this.#wire.outsideTransaction) throw nothingToCommit();
    try {
      const { command } = await this.#send(whole, 'COMMIT');
      this.#inTransaction = false;
      if (command !== 'COMMIT') throw rolledBack();
    } catch (error) {
      // A driver may report the error before the server is ready for the next statement; the response to this one says it is.
      if (this.#inTransaction && !this.#possiblyBroken)
        await this.rollback().catch(() => (this.#possiblyBroken = true));
      throw error;
    }
  }

  /** Where a statement was rejected because the connection is lost, or the pool took it away, the database has rolled back. */
  async rollback(): Promise<void> {
    const isRolledBack = this.#lost !== undefined || this.#takenAway;
    if (!isRolledBack || this.#released) await this.#send(whole, 'ROLLBACK');
    this.#inTransaction = false;
  }

  query<R extends object = Row>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    return this.#ask(rowsOf, sql, params);
  }

  async execute<R extends object = Row>(
    sql: string,
    params: readonly unknown[] = [],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult<R>> {
    checkExecuteOptions(options);
    return this.#ask(whole, sql, params, options);
  }

  cancel(): void {
    if (this.#released || this.#takenAway) return;
    this.#possiblyBroken = true;
    this.#wire.cancel?.();
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) throw new TransactionError('AMBIT_TX_RELEASED', 'release() was called twice');
    this.#released = true;
    this.#queue.clear(released);
    if (!this.#takenAway) this.#return(destroy !== false);
  }

  /** For a pool that is closed: from now on only a rollback and the release are accepted, and do nothing. */
  takeAway(): void {
    this.#takenAway = true;
    this.#queue.clear(poolClosed);
    this.#return(true);
  }

  #return(destroy: boolean): void {
    this.#onRelease(destroy || this.#possiblyBroken || this.#queue.busy || this.#inTransaction);
  }

  #ask<T>(read: (result: Result) => T, sql: string, params: readonly unknown[], options?: ExecuteOptions): Promise<T> {
    if (!statementOutside.hasSubscribers || this.#inTransaction) return this.#send(read, sql, params, options);
    return publishedOutside(sql, () => this.#send(read, sql, params, options));
  }

  async #send<T>(
    read: (result: Result) => T,
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<T> {
    const turn = this.#queue.enter();
    if (turn) await turn;
    try {
      if (this.#isLost) throw lostBefore(this.#lostBecause);
      if (params && !this.#texts.isHarmless(sql)) this.#check(sql, options);
      const sent = this.#wire.send(sql, params, options);
      return read(sent instanceof Promise ? await sent : sent);
    } catch (error) {
      throw withCallersStack(this.#failure(error));
    } finally {
      this.#queue.leave();
    }
  }

  get #isLost(): boolean {
    return this.#lost !== undefined || this.#wire.isLost;
  }

  get #lostBecause(): unknown {
    return this.#lost ? this.#lost.cause : this.#wire.lostBecause;
  }

  #check(sql: string, options: ExecuteOptions | undefined): void {
    const where = {
      inTransaction: this.#inTransaction,
      readOnly: this.#readOnly,
      isKept: options?.prepare !== false,
    };
    if (this.#texts.leavesSessionState(sql, where)) this.#possiblyBroken = true;
  }

  #failure(error: unknown): TransactionError {
    const where = { isLost: this.#isLost, readOnly: this.#readOnly };
    const isOurs = isTransactionError(error);
    const failure = isOurs ? error : this.#texts.language.translate(error, where);
    if (failure.code === 'AMBIT_TX_CONNECTION_LOST') this.#lost ??= failure;
    // Without an SQLSTATE it is the driver's: nobody knows what it has sent.
    const isOfTheDriver = !isOurs && failure.sqlState === undefined;
    if (this.#isLost || isOfTheDriver || LAST.has(failure.code)) this.#possiblyBroken = true;
    return failure;
  }
}
