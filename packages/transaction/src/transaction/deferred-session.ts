import type { IContainer } from '@ambit/container';
import { TURN } from '../clock.js';
import {
  type BeginOptions,
  cannotExecute,
  type ExecuteOptions,
  type IConnection,
  type IPooledConnection,
} from '../contract.js';
import { aborted, alreadyOpen, asCoded, released } from '../errors.js';
import { since, transactionBegun } from '../events.js';
import { sessionOf } from '../pool/foreign-session.js';
import { type Session, StatementQueue } from '../pool/session.js';
import { refuseTransactionControl } from '../sql/control-statements.js';
import { Acquisition } from './acquisition.js';
import type { TransactionSettings } from './settings.js';

/**
 * The session of a transaction that begins with its first statement: until then it holds no connection, and where none comes it has nothing
 * to commit.
 */
export class DeferredSession implements Session {
  readonly queue = new StatementQueue();
  readonly isDeferred = true;
  /** The scope of the transaction, for `afterBegin` of the pool. */
  scope: IContainer | undefined = undefined;
  readonly #acquisition: Acquisition;
  #session: Session | undefined = undefined;
  /** Also before it has begun: a rollback does not wait forever. */
  #isReleased = false;
  #beginOptions: BeginOptions = {};
  #resolve!: (connection: IPooledConnection) => void;
  #reject!: (error: unknown) => void;

  constructor(parent: IContainer, settings: TransactionSettings) {
    this.#acquisition = new Acquisition(parent, settings, {
      receive: (connection, cancelled) => {
        if (!cancelled) return this.#resolve(connection);
        this.#acquisition.release(connection);
        this.#reject(aborted(cancelled));
      },
      fail: (error) => this.#reject(error),
    });
  }

  get synchronous(): boolean {
    return this.#session?.synchronous ?? false;
  }

  get isolationSql(): string | undefined {
    return this.#session?.isolationSql;
  }

  async begin(options: BeginOptions): Promise<void> {
    this.#beginOptions = options;
  }

  commit(): Promise<void> {
    return this.#session?.commit() ?? TURN;
  }

  rollback(): Promise<void> {
    return this.#session?.rollback() ?? TURN;
  }

  refuse(sql: string, options: ExecuteOptions | undefined): void {
    if (this.#session) this.#session.refuse(sql, options);
    else refuseTransactionControl(sql);
  }

  send(sql: string, params: readonly unknown[] | undefined, options: ExecuteOptions | undefined): unknown {
    if (this.#session) return this.#session.send(sql, params, options);
    return this.#begin().then((session) => {
      session.refuse(sql, options);
      return session.send(sql, params, options);
    });
  }

  rowsOf(sent: unknown): unknown {
    return this.#session?.rowsOf(sent);
  }

  failureOf(error: unknown): unknown {
    return this.#session?.failureOf(error) ?? error;
  }

  cancel(): unknown {
    if (this.#session) return this.#session.cancel();
    this.#acquisition.cancel(undefined);
    return undefined;
  }

  release(destroy?: boolean | Error): unknown {
    this.#isReleased = true;
    return this.#session?.release(destroy);
  }

  async #begin(): Promise<Session> {
    const connection = await new Promise<IPooledConnection>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#acquisition.ask();
    });
    if (this.#isReleased) {
      this.#acquisition.release(connection);
      throw released();
    }
    const session = sessionOf(connection);
    this.#session = session;
    const { scope } = this;
    if (scope) this.#acquisition.publish(scope);
    const start = transactionBegun.hasSubscribers ? performance.now() : 0;
    const { afterBegin } = this.#acquisition.pool;
    let what = 'BEGIN failed';
    try {
      await session.begin(this.#beginOptions);
      if (this.#isReleased) throw released();
      what = 'afterBegin() of the pool failed';
      if (scope) await afterBegin?.(duringBegin(connection), scope);
    } catch (error) {
      throw asCoded(error, 'AMBIT_TX_BEGIN_FAILED', what);
    }
    if (this.#isReleased) throw released();
    if (transactionBegun.hasSubscribers) transactionBegun.publish({ scope, milliseconds: since(start) });
    return session;
  }
}

/** The connection for `afterBegin`, whose statements run within the turn of the first one: that of the scope would let them wait for it. */
function duringBegin(connection: IPooledConnection): IConnection {
  const refuse = async (): Promise<never> => {
    throw alreadyOpen();
  };
  return {
    query: (sql, params) => connection.query(sql, params),
    execute: async (sql, params, options) => {
      if (!connection.execute) throw cannotExecute();
      return connection.execute(sql, params, options);
    },
    beginTransaction: refuse,
    commit: refuse,
    rollback: refuse,
  };
}
