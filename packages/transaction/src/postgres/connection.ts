import type { QueryResult } from 'pg';
import { beginStatement, refuseTransactionControl } from '../sql/control-statements.js';
import type { BeginOptions, DatabaseConnection, ExecuteOptions, ExecuteResult, Row } from '../core/contract.js';
import {
  lostBefore,
  lostBeforeCommit,
  nothingToCommit,
  poolClosed,
  released,
  rolledBack,
  TransactionError,
} from '../core/errors.js';
import { publishedOutside, statementOutside } from '../core/events.js';
import type { Linked } from '../core/linked-list.js';
import { StatementQueue } from '../core/statement-queue.js';
import { checkExecuteOptions } from '../core/options.js';
import { ISOLATION_SQL, mayBeStale, unconfirmed } from './errors.js';
import { commandOf, readFailure, resultOf, rowsOf, Statement, type StatementNames } from './statement.js';
import type { PostgresSettings } from './options.js';
import type { Session } from './session.js';
import { leavesSessionState } from './session-state.js';

export interface Checkout {
  readonly session: Session;
  readonly settings: PostgresSettings;
  readonly names: StatementNames | undefined;
  /** The caller asked for a connection to read with. */
  readonly forReading: boolean;
  readonly onRelease: (possiblyBroken: boolean) => void;
}

export class PostgresConnection implements DatabaseConnection, Linked<PostgresConnection> {
  /** Its neighbours in the list of connections that are checked out. */
  earlier: PostgresConnection | undefined = undefined;
  later: PostgresConnection | undefined = undefined;
  readonly #checkout: Checkout;
  readonly #session: Session;
  /** The driver queues by itself, but warns of it; and a release can refuse the statements that still wait here. */
  readonly #queue = new StatementQueue();
  #released = false;
  /** The pool was closed, and stopped waiting for the release. */
  #takenAway = false;
  /** Then it is closed on its release. */
  #possiblyBroken = false;
  #cancelled = false;
  /** A statement was rejected because the connection was lost, so it is not reported again. */
  #knownLost = false;
  #forReading: boolean;

  constructor(checkout: Checkout) {
    this.#checkout = checkout;
    this.#session = checkout.session;
    this.#forReading = checkout.forReading;
  }

  get isolationSql(): string {
    return ISOLATION_SQL;
  }

  async beginTransaction(options: BeginOptions = {}): Promise<void> {
    await this.#send(beginStatement(options));
    this.#forReading = options.readOnly ?? this.#checkout.forReading;
  }

  async commit(): Promise<void> {
    // Nothing is sent. The SQLSTATE says so; without one the outcome would count as unknown.
    if (this.#released) throw released({ sqlState: '08003' });
    if (this.#takenAway) throw poolClosed();
    if (this.#session.outsideTransaction) throw nothingToCommit();
    if (this.#session.died) throw lostBeforeCommit(this.#session.diedBecause);
    let command: string;
    try {
      command = await this.#send('COMMIT');
    } catch (error) {
      // The driver reports the error before the server says it is ready; this waits for that, and proves it is idle.
      if (!this.#possiblyBroken) await this.rollback().catch(() => (this.#possiblyBroken = true));
      throw error;
    }
    if (command !== 'COMMIT') throw rolledBack();
  }

  /** Where a statement was rejected because the connection is lost, or the pool closed it, the server has rolled back. */
  async rollback(): Promise<void> {
    const isRolledBack = this.#knownLost || (this.#takenAway && !this.#released);
    if (!isRolledBack) await this.#send('ROLLBACK');
  }

  query<R extends object = Row>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    const run = (): Promise<R[]> => this.#ask(sql, params, rowsOf) as Promise<R[]>;
    return this.#isPublished ? publishedOutside(sql, run) : run();
  }

  async execute<R extends object = Row>(
    sql: string,
    params: readonly unknown[] = [],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult<R>> {
    checkExecuteOptions(options);
    const run = (): Promise<ExecuteResult<R>> => this.#ask(sql, params, resultOf, options);
    return this.#isPublished ? publishedOutside(sql, run) : run();
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) throw new TransactionError('AMBIT_TX_RELEASED', 'release() was called twice');
    this.#released = true;
    this.#queue.clear(released);
    if (!this.#takenAway) this.#return(destroy !== false);
  }

  /** For a pool that is closed: the connection is closed too, and refuses everything but a rollback and the release. */
  takeAway(): void {
    this.#takenAway = true;
    this.#queue.clear(poolClosed);
    this.#return(true);
  }

  #return(destroy: boolean): void {
    const idle = !this.#queue.busy && this.#session.outsideTransaction;
    this.#checkout.onRelease(destroy || this.#possiblyBroken || !idle);
  }

  cancel(): void {
    if (this.#released || this.#takenAway) return;
    this.#possiblyBroken = this.#cancelled = true;
    this.#session.cancel(this.#checkout.settings.cancelGraceMs);
  }

  get #isPublished(): boolean {
    return statementOutside.hasSubscribers && this.#session.outsideTransaction;
  }

  /** A statement of our own, which may begin, commit and roll back. */
  #send(text: string): Promise<string> {
    return this.#ask(text, undefined, commandOf);
  }

  async #ask<T>(
    text: string,
    params: readonly unknown[] | undefined,
    read: (result: QueryResult) => T,
    options?: ExecuteOptions,
  ): Promise<T> {
    const { settings, names } = this.#checkout;
    // A text that has a name was checked before.
    if (params && !names?.has(text)) refuseTransactionControl(text);
    const turn = this.#queue.enter();
    if (turn) await turn;
    const stopTimer = this.#session.limitStatement(settings, () => this.cancel());
    const statement = new Statement(text, params, options);
    // A user's statement outside of a transaction commits by itself.
    const commits = params ? this.#session.outsideTransaction : text === 'COMMIT';
    if (params) {
      statement.name = options?.prepare === false ? undefined : names?.nameOf(text);
      // The connection is closed on its release, so that no session state reaches the next user. A named statement leaves none.
      if (statement.name === undefined) this.#possiblyBroken ||= leavesSessionState(text);
    }
    try {
      if (this.#session.died) throw lostBefore(this.#session.diedBecause);
      return await this.#run(statement, read, commits);
    } catch (error) {
      const isRunAgain = params && commits && mayBeStale(error, statement);
      if (isRunAgain) return await this.#runUnprepared(new Statement(text, params, options), read);
      throw this.#failure(error, statement);
    } finally {
      stopTimer();
      this.#queue.leave();
    }
  }

  #run<T>(statement: Statement, read: (result: QueryResult) => T, commits: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      // As an argument: assigned here, the callback keeps the rows until they are promoted to the old generation (decision 0003).
      this.#session.client.query(statement, (error, result) => {
        if (error) reject(error);
        else if (commits && (this.#cancelled || this.#session.unconfirmed)) reject(unconfirmed());
        else resolve(read(result));
      });
    });
  }

  /**
   * Without the prepared statement, which may no longer fit its tables. Outside of a transaction nothing was done, so the
   * statement can be run again.
   */
  async #runUnprepared<T>(statement: Statement, read: (result: QueryResult) => T): Promise<T> {
    try {
      const result = await this.#run(statement, read, true);
      this.#replaceStatement(statement.text);
      return result;
    } catch (error) {
      throw this.#failure(error, statement);
    }
  }

  /** Every other connection prepares it again under a new name; this one still has the old name, too. */
  #replaceStatement(text: string): void {
    this.#checkout.names?.renew(text);
    this.#possiblyBroken = true;
  }

  #failure(error: unknown, statement: Statement): TransactionError {
    const isDead = this.#session.died;
    const { failure, isBroken, isStale } = readFailure(error, statement, { isDead, forReading: this.#forReading });
    if (isStale) this.#replaceStatement(statement.text);
    this.#possiblyBroken ||= isBroken;
    if (failure.code === 'AMBIT_TX_CONNECTION_LOST') {
      this.#knownLost = true;
      this.#session.diedBecause ??= failure.cause;
    }
    return failure;
  }
}
