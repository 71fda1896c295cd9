import type { IContainer } from '@ambit/container';
import { TURN } from '../clock.js';
import {
  type AfterBegin,
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
  /** The scope of the transaction, for `afterBegin` of the pool. */
  scope: IContainer | undefined = undefined;
  readonly #acquisition: Acquisition;
  #session: Session | undefined = undefined;
  /** The first statement, and a `ROLLBACK TO` behind its failure, wait for the same beginning. */
  #beginning: Promise<Session> | undefined = undefined;
  /** True once it was cancelled or released before it had begun. */
  #isUnwanted = false;
  #beginOptions: BeginOptions = {};
  #resolve!: (connection: IPooledConnection) => void;
  #reject!: (error: unknown) => void;
  /** Ends the wait for `afterBegin`, which may wait for something else than the connection. */
  #stopPreparing: ((error: unknown) => void) | undefined = undefined;

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

  get isDeferred(): boolean {
    return this.#session === undefined;
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
    if (this.#session && !this.#beginning) return this.#session.send(sql, params, options);
    this.#beginning ??= this.#begin();
    return this.#beginning.then((session) => {
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
    this.#isUnwanted = true;
    this.#stopPreparing?.(aborted({ reason: undefined }));
    if (this.#session) return this.#session.cancel();
    this.#acquisition.cancel(undefined);
    return undefined;
  }

  release(destroy?: boolean | Error): unknown {
    this.#isUnwanted = true;
    return this.#session?.release(destroy);
  }

  async #begin(): Promise<Session> {
    const connection = await new Promise<IPooledConnection>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#acquisition.ask();
    });
    if (this.#isUnwanted) {
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
      if (this.#isUnwanted) throw released();
      what = 'afterBegin() of the pool failed';
      if (scope && afterBegin) await this.#prepare(afterBegin, connection, scope);
    } catch (error) {
      throw asCoded(error, 'AMBIT_TX_BEGIN_FAILED', what);
    }
    if (this.#isUnwanted) throw released();
    if (transactionBegun.hasSubscribers) transactionBegun.publish({ scope, milliseconds: since(start) });
    this.#beginning = undefined;
    return session;
  }

  #prepare(afterBegin: AfterBegin, connection: IPooledConnection, scope: IContainer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#stopPreparing = reject;
      Promise.resolve(afterBegin(duringBegin(connection), scope)).then(() => resolve(), reject);
    });
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
