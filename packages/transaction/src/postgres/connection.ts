import type { QueryResult } from 'pg';
import { refuseTransactionControl } from '../sql/control-statements.js';
import type { BeginOptions, IPooledConnection, Row } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { sqlStateOf } from '../core/sql-state.js';
import { StatementQueue } from '../core/statement-queue.js';
import type { Linked } from '../core/linked-list.js';
import { checkIsolation } from '../core/options.js';
import {
  hangsUp,
  isReadOnlyRefusal,
  isStale,
  mayBeStale,
  poolClosed,
  readOnlyRefusal,
  released,
  schemaChanged,
  staleStatement,
  translated,
  unconfirmed,
} from './errors.js';
import { requestCancel } from './side-channel.js';
import type { PostgresSettings } from './options.js';
import type { Session } from './session.js';
import { leavesSessionState } from './session-state.js';
import { Statement } from './statement.js';
import type { StatementNames } from './statement-names.js';
import { watchStatement } from './watch-statement.js';

export interface Checkout {
  readonly session: Session;
  readonly settings: PostgresSettings;
  readonly names: StatementNames | undefined;
  /** The caller asked for a connection to read with. */
  readonly forReading: boolean;
  readonly onRelease: (possiblyBroken: boolean) => void;
}

export class PostgresConnection implements IPooledConnection, Linked<PostgresConnection> {
  /** Its neighbours among those that are checked out. */
  earlier: PostgresConnection | undefined = undefined;
  later: PostgresConnection | undefined = undefined;
  readonly #checkout: Checkout;
  readonly #session: Session;
  /** The driver queues by itself, but warns of it; and a release can refuse what still waits here. */
  readonly #queue = new StatementQueue();
  #released = false;
  /** The pool was closed, and waited no longer for the release. */
  #takenAway = false;
  /** It is closed on its release. */
  #possiblyBroken = false;
  #cancelled = false;
  /** A statement was rejected because of it, so nobody needs to hear of it again. */
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
    // Nothing is sent, which the state tells for certain; without one the outcome would pass for unknown.
    if (this.#released) throw released({ sqlState: '08003' });
    if (this.#takenAway) throw poolClosed();
    if (this.#session.outsideTransaction) {
      throw new TransactionError(
        'AMBIT_TX_CONTROL_STATEMENT',
        'COMMIT found no open transaction: a statement has ended it',
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
    throw new TransactionError('AMBIT_TX_COMMIT_FAILED', 'PostgreSQL answered COMMIT with ROLLBACK', {
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

  /** For a pool that is closed: the connection is, too, and every use but a rollback and the release is refused. */
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

  /** One of our own, which may begin and end. */
  #send(text: string): Promise<string> {
    return this.#ask(text, undefined, commandOf);
  }

  async #ask<T>(text: string, params: readonly unknown[] | undefined, read: (result: QueryResult) => T): Promise<T> {
    if (params) refuseTransactionControl(text);
    const turn = this.#queue.enter();
    if (turn) await turn;
    const { settings, names } = this.#checkout;
    const stopWatch = watchStatement(this.#session, settings, () => this.cancel());
    const statement = new Statement(text, params);
    // A statement of a user's outside of a transaction commits by itself.
    const commits = params ? this.#session.outsideTransaction : text === 'COMMIT';
    if (params) {
      statement.queryMode = 'extended';
      statement.name = names?.nameOf(text);
      // Closed on its release, so that nothing reaches the next user. What has a name leaves nothing.
      if (statement.name === undefined) this.#possiblyBroken ||= leavesSessionState(text);
    }
    try {
      return await this.#run(statement, read, commits);
    } catch (error) {
      if (params && commits && mayBeStale(error, statement)) return await this.#runAfresh(text, params, read);
      throw this.#failure(error, statement);
    } finally {
      stopWatch();
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
   * Without what the server has prepared, which may no longer fit its tables. Nothing was done outside of a transaction,
   * so the statement can be run again.
   */
  async #runAfresh<T>(text: string, params: readonly unknown[], read: (result: QueryResult) => T): Promise<T> {
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

  /** Every other connection prepares it again under a new name; this one still has the old one, too. */
  #replaceStatement(text: string): void {
    this.#checkout.names?.renew(text);
    this.#possiblyBroken = true;
  }

  #failure(error: unknown, statement: Statement): TransactionError {
    if (isStale(error, statement)) {
      this.#replaceStatement(statement.text);
      return staleStatement(error);
    }
    // Without an SQLSTATE it is the driver's: a value that it cannot send comes too late for what was sent before it.
    const isOfTheServer = sqlStateOf(error) !== undefined;
    this.#possiblyBroken ||= this.#session.died || !isOfTheServer || hangsUp(error) || schemaChanged(error, statement);
    if (isReadOnlyRefusal(error) && !this.#forReading) {
      this.#possiblyBroken = true;
      return readOnlyRefusal(error);
    }
    const failure = translated(error, this.#session.died);
    this.#knownLost ||= failure.code === 'AMBIT_TX_CONNECTION_LOST';
    return failure;
  }
}

const rowsOf = ({ rows }: QueryResult): unknown => rows;
const commandOf = ({ command }: QueryResult): string => command;
