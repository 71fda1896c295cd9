import type { QueryResult } from 'pg';
import { refuseTransactionControl } from '../sql/control-statements.js';
import type { BeginOptions, IPooledConnection, Row } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { StatementQueue } from '../core/statement-queue.js';
import type { Linked } from '../core/linked-list.js';
import { checkIsolation } from '../core/options.js';
import { mayBeStale, poolClosed, released, unconfirmed } from './errors.js';
import { readFailure } from './failed-statement.js';
import { requestCancel } from './side-channel.js';
import type { PostgresSettings } from './options.js';
import type { Session } from './session.js';
import { leavesSessionState } from './session-state.js';
import { Statement, type StatementNames } from './statement.js';

export interface Checkout {
  readonly session: Session;
  readonly settings: PostgresSettings;
  readonly names: StatementNames | undefined;
  /** The caller asked for a connection to read with. */
  readonly forReading: boolean;
  readonly onRelease: (possiblyBroken: boolean) => void;
}

export class PostgresConnection implements IPooledConnection, Linked<PostgresConnection> {
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

  async beginTransaction({ isolation, readOnly }: BeginOptions = {}): Promise<void> {
    checkIsolation(isolation);
    const level = isolation === undefined ? '' : ` ISOLATION LEVEL ${isolation.toUpperCase()}`;
    const access = readOnly === undefined ? '' : readOnly ? ' READ ONLY' : ' READ WRITE';
    await this.#send(`BEGIN${level}${access}`);
    this.#forReading = readOnly ?? this.#checkout.forReading;
  }

  async commit(): Promise<void> {
    // Nothing is sent. The SQLSTATE says so; without one the outcome would count as unknown.
    if (this.#released) throw released({ sqlState: '08003' });
    if (this.#takenAway) throw poolClosed();
    if (this.#session.outsideTransaction) {
      throw new TransactionError(
        'AMBIT_TX_CONTROL_STATEMENT',
        'COMMIT found no open transaction: a statement has already committed it or rolled it back',
      );
    }
    if (this.#session.died) {
      const what = 'The connection to PostgreSQL was lost before COMMIT was sent';
      throw new TransactionError('AMBIT_TX_CONNECTION_LOST', what, { sqlState: '08003' });
    }
    let command: string;
    try {
      command = await this.#send('COMMIT');
    } catch (error) {
      // The driver reports the error before the server says it is ready; this waits for that, and proves it is idle.
      if (!this.#possiblyBroken) await this.rollback().catch(() => (this.#possiblyBroken = true));
      throw error;
    }
    if (command === 'COMMIT') return;
    throw new TransactionError('AMBIT_TX_COMMIT_FAILED', 'PostgreSQL rolled back in response to COMMIT', {
      sqlState: '40000',
    });
  }

  /** Where a statement was rejected because the connection is lost, or the pool closed it, the server has rolled back. */
  async rollback(): Promise<void> {
    const isRolledBack = this.#knownLost || (this.#takenAway && !this.#released);
    if (!isRolledBack) await this.#send('ROLLBACK');
  }

  query<R extends object = Row>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    return this.#ask(sql, params, rowsOf) as Promise<R[]>;
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
    const { host, port, processID, secretKey } = this.#session.client;
    requestCancel({ host, port, processId: processID, secretKey }, this.#checkout.settings.cancelGraceMs);
  }

  /** A statement of our own, which may begin, commit and roll back. */
  #send(text: string): Promise<string> {
    return this.#ask(text, undefined, commandOf);
  }

  async #ask<T>(text: string, params: readonly unknown[] | undefined, read: (result: QueryResult) => T): Promise<T> {
    const { settings, names } = this.#checkout;
    // A text that has a name was checked before.
    if (params && !names?.has(text)) refuseTransactionControl(text);
    const turn = this.#queue.enter();
    if (turn) await turn;
    const stopTimer = this.#session.limitStatement(settings, () => this.cancel());
    const statement = new Statement(text, params);
    // A user's statement outside of a transaction commits by itself.
    const commits = params ? this.#session.outsideTransaction : text === 'COMMIT';
    if (params) {
      statement.queryMode = 'extended';
      statement.name = names?.nameOf(text);
      // The connection is closed on its release, so that no session state reaches the next user. A named statement leaves none.
      if (statement.name === undefined) this.#possiblyBroken ||= leavesSessionState(text);
    }
    try {
      return await this.#run(statement, read, commits);
    } catch (error) {
      if (params && commits && mayBeStale(error, statement)) return await this.#runUnprepared(text, params, read);
      throw this.#failure(error, statement);
    } finally {
      stopTimer();
      this.#queue.leave();
    }
  }

  #run<T>(statement: Statement, read: (result: QueryResult) => T, commits: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      statement.callback = (error, result) => {
        if (error) reject(error);
        else if (commits && (this.#cancelled || this.#session.unconfirmed)) reject(unconfirmed());
        else resolve(read(result));
      };
      this.#session.client.query(statement);
    });
  }

  /**
   * Without the prepared statement, which may no longer fit its tables. Outside of a transaction nothing was done, so the
   * statement can be run again.
   */
  async #runUnprepared<T>(text: string, params: readonly unknown[], read: (result: QueryResult) => T): Promise<T> {
    const statement = new Statement(text, params);
    statement.queryMode = 'extended';
    try {
      const result = await this.#run(statement, read, true);
      this.#replaceStatement(text);
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
    this.#knownLost ||= failure.code === 'AMBIT_TX_CONNECTION_LOST';
    return failure;
  }
}

const rowsOf = ({ rows }: QueryResult): unknown => rows;
const commandOf = ({ command }: QueryResult): string => command;
