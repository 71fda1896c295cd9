import { Query, type QueryResult } from 'pg';
import { startTimer } from '../clock.js';
import { refuseTransactionControl } from '../control-statements.js';
import type { BeginOptions, IPooledConnection, Row } from '../contract.js';
import { TransactionError } from '../errors.js';
import { sqlStateOf } from '../faults.js';
import { Lane } from '../lane.js';
import type { Linked } from '../linked-list.js';
import { checkIsolation } from '../options.js';
import { requestCancel } from './cancel.js';
import { cut, type Session } from './clients.js';
import { hangsUp, isStaleStatement, translated } from './errors.js';
import type { PostgresSettings } from './options.js';
import type { StatementNames } from './statement-names.js';

/**
 * The driver's own statement, made without options: of options it would first make a copy, property by property, and
 * that costs as much as to send the statement.
 */
class Statement extends Query {
  /** Named, the server parses and plans it once per connection. */
  name: string | undefined = undefined;
  /** The extended protocol takes one statement only, with parameters or without. */
  queryMode: 'extended' | undefined = undefined;

  /** The server has passed over the Sync that came with the COPY, and after a failure reads nothing before another. */
  handleCopyInResponse(connection: CopyingConnection): void {
    connection.sendCopyFail('query() has nothing to copy from');
    connection.sync();
  }
}

/** What the driver hands over but does not declare. */
interface CopyingConnection {
  sendCopyFail(why: string): void;
  sync(): void;
}

export interface Loan {
  readonly session: Session;
  readonly settings: PostgresSettings;
  readonly names: StatementNames | undefined;
  readonly onReturn: (inDoubt: boolean) => void;
}

export class PostgresConnection implements IPooledConnection, Linked<PostgresConnection> {
  /** Its neighbours among those on loan. */
  earlier: PostgresConnection | undefined = undefined;
  later: PostgresConnection | undefined = undefined;
  readonly #loan: Loan;
  readonly #session: Session;
  /** The driver queues by itself, but warns of it; and a release can refuse what still waits here. */
  readonly #lane = new Lane();
  #released = false;
  #doubtful = false;

  constructor(loan: Loan) {
    this.#loan = loan;
    this.#session = loan.session;
  }

  get released(): boolean {
    return this.#released;
  }

  async beginTransaction({ isolation, readOnly }: BeginOptions = {}): Promise<void> {
    checkIsolation(isolation);
    const level = isolation === undefined ? '' : ` ISOLATION LEVEL ${isolation.toUpperCase()}`;
    const access = readOnly === undefined ? '' : readOnly ? ' READ ONLY' : ' READ WRITE';
    await this.#send(`BEGIN${level}${access}`);
  }

  async commit(): Promise<void> {
    // Nothing is sent, which the state tells for certain; without one the outcome would pass for unknown.
    if (this.#released) throw released({ sqlState: '08003' });
    if (this.#session.client.getTransactionStatus() === 'I') {
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
      if (!this.#doubtful) await this.rollback().catch(() => (this.#doubtful = true));
      throw error;
    }
    if (command === 'COMMIT') return;
    throw new TransactionError('AMBIT_TX_COMMIT_FAILED', 'PostgreSQL answered COMMIT with ROLLBACK', {
      sqlState: '40000',
    });
  }

  async rollback(): Promise<void> {
    await this.#send('ROLLBACK');
  }

  query<R extends object = Row>(sql: string, params: readonly unknown[] = []): Promise<R[]> {
    return this.#ask(sql, params, rowsOf) as Promise<R[]>;
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) throw new TransactionError('AMBIT_TX_RELEASED', 'release() was called twice');
    this.#released = true;
    this.#lane.drop(released);
    const idle = !this.#lane.busy && this.#session.client.getTransactionStatus() === 'I';
    this.#loan.onReturn(destroy !== false || this.#doubtful || !idle);
  }

  cancel(): void {
    if (this.#released) return;
    this.#doubtful = true;
    const { host, port, processID, secretKey } = this.#session.client;
    requestCancel({ host, port, processId: processID, secretKey }, this.#loan.settings.cancelGraceMs);
  }

  /** One of our own, which may begin and end. */
  #send(text: string): Promise<string> {
    return this.#ask(text, undefined, commandOf);
  }

  async #ask<T>(text: string, params: readonly unknown[] | undefined, read: (result: QueryResult) => T): Promise<T> {
    if (params) refuseTransactionControl(text);
    const turn = this.#lane.enter();
    if (turn) await turn;
    const { clock, queryTimeoutMs, cancelGraceMs } = this.#loan.settings;
    let callOff = startTimer(
      clock,
      () => {
        this.cancel();
        callOff = startTimer(clock, () => cut(this.#session), cancelGraceMs);
      },
      queryTimeoutMs,
    );
    try {
      return await new Promise<T>((resolve, reject) => {
        const statement = new Statement(text, params, (error, result) => {
          if (error) reject(error);
          else resolve(read(result));
        });
        if (params) {
          statement.name = this.#loan.names?.nameOf(text);
          statement.queryMode = 'extended';
        }
        this.#session.client.query(statement);
      });
    } catch (error) {
      // Without an SQLSTATE it is the driver's: a value that it cannot send comes too late for what was sent before it.
      const isOfTheServer = sqlStateOf(error) !== undefined;
      this.#doubtful ||= this.#session.died || !isOfTheServer || hangsUp(error) || isStaleStatement(error);
      throw translated(error, this.#session.died);
    } finally {
      callOff();
      this.#lane.leave();
    }
  }
}

const rowsOf = ({ rows }: QueryResult): unknown => rows;
const commandOf = ({ command }: QueryResult): string => command;

function released(options?: { sqlState: string }): TransactionError {
  return new TransactionError('AMBIT_TX_RELEASED', 'The connection was used after its release', options);
}
