import type { BeginOptions, DatabaseConnection, ExecuteOptions, ExecuteResult, Row } from '../core/contract.js';
import {
  isTransactionError,
  lostBefore,
  lostBeforeCommit,
  nothingToCommit,
  poolClosed,
  released,
  rolledBack,
  savepointAlone,
  TransactionError,
  withCallersStack,
} from '../core/errors.js';
import { publishedOutside, statementOutside } from '../core/events.js';
import type { Linked } from '../core/linked-list.js';
import { checkExecuteOptions, checkIsolation } from '../core/options.js';
import { StatementQueue } from '../core/statement-queue.js';
import { isSavepoint, refuseTransactionControl } from '../sql/control-statements.js';
import type { Language, Wire } from './driver.js';

/** A connection of a driver that keeps the contract: one statement at a time, none after the release, coded errors. */
export class DriverConnection implements DatabaseConnection, Linked<DriverConnection> {
  /** Its neighbours in the list of connections that are checked out. */
  earlier: DriverConnection | undefined = undefined;
  later: DriverConnection | undefined = undefined;
  readonly synchronous: boolean;
  readonly #wire: Wire;
  readonly #language: Language;
  readonly #onRelease: (possiblyBroken: boolean) => void;
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

  constructor(wire: Wire, language: Language, readOnly: boolean, onRelease: (possiblyBroken: boolean) => void) {
    this.synchronous = wire.synchronous ?? false;
    this.#wire = wire;
    this.#language = language;
    this.#readOnly = readOnly;
    this.#onRelease = onRelease;
  }

  get isolationSql(): string | undefined {
    return this.#language.isolationSql;
  }

  async beginTransaction(options: BeginOptions = {}): Promise<void> {
    checkIsolation(options.isolation);
    for (const sql of this.#language.begin(options)) await this.#send(sql);
    this.#inTransaction = true;
    this.#readOnly = options.readOnly ?? this.#readOnly;
  }

  async commit(): Promise<void> {
    // Nothing is sent. The SQLSTATE says so; without one the outcome would count as unknown.
    if (this.#released) throw released({ sqlState: '08003' });
    if (this.#takenAway) throw poolClosed();
    if (this.#isLost) throw lostBeforeCommit(this.#lostBecause);
    if (!this.#inTransaction) throw nothingToCommit();
    try {
      const { command } = await this.#send('COMMIT');
      this.#inTransaction = false;
      if (command !== 'COMMIT') throw rolledBack();
    } catch (error) {
      if (this.#inTransaction) await this.rollback().catch(() => (this.#possiblyBroken = true));
      throw error;
    }
  }

  /** Where the connection is lost, or the pool took it away, the database has rolled back. */
  async rollback(): Promise<void> {
    const isRolledBack = this.#isLost || this.#takenAway;
    if (!isRolledBack || this.#released) await this.#send('ROLLBACK');
    this.#inTransaction = false;
  }

  async query<R extends object = Row>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    const { rows } = await this.#ask(sql, params);
    return rows;
  }

  async execute<R extends object = Row>(
    sql: string,
    params: readonly unknown[] = [],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult<R>> {
    checkExecuteOptions(options);
    return this.#ask(sql, params, options);
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

  #ask(sql: string, params: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult<never>> {
    refuseTransactionControl(sql);
    const run = (): Promise<ExecuteResult<never>> => this.#send(sql, params, options);
    return statementOutside.hasSubscribers && !this.#inTransaction ? publishedOutside(sql, run) : run();
  }

  async #send(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult<never>> {
    const turn = this.#queue.enter();
    if (turn) await turn;
    try {
      if (this.#isLost) throw lostBefore(this.#lostBecause);
      if (params) this.#check(sql);
      return await this.#wire.send(sql, params, options);
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

  /** What the database would do, but not say. */
  #check(sql: string): void {
    const inTransaction = this.#inTransaction;
    if (!inTransaction && isSavepoint(sql)) throw savepointAlone();
    this.#language.check?.(sql, { inTransaction, readOnly: this.#readOnly });
    this.#possiblyBroken ||= this.#language.leavesSessionState(sql);
  }

  #failure(error: unknown): TransactionError {
    if (isTransactionError(error)) return error;
    const failure = this.#language.translate(error, this.#isLost);
    if (failure.code === 'AMBIT_TX_CONNECTION_LOST') this.#lost ??= failure;
    // Without an SQLSTATE it is the driver's: nobody knows what it has sent.
    this.#possiblyBroken ||= this.#isLost || failure.sqlState === undefined;
    return failure;
  }
}
