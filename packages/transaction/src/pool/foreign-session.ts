import { type BeginOptions, cannotExecute, type ExecuteOptions, type IPooledConnection } from '../contract.js';
import { refuseTransactionControl } from '../sql/control-statements.js';
import { PooledConnection } from './pool.js';
import { type Session, StatementQueue } from './session.js';

/** The session over the connection of another pool, which checks no text, and whose errors stay what they are. */
class ForeignSession implements Session {
  readonly queue = new StatementQueue();
  readonly #connection: IPooledConnection;

  constructor(connection: IPooledConnection) {
    this.#connection = connection;
  }

  get synchronous(): boolean {
    return this.#connection.synchronous ?? false;
  }

  get isolationSql(): string | undefined {
    return this.#connection.isolationSql;
  }

  begin(options: BeginOptions): Promise<void> {
    return this.#connection.beginTransaction(options);
  }

  commit(): Promise<void> {
    return this.#connection.commit();
  }

  rollback(): Promise<void> {
    return this.#connection.rollback();
  }

  refuse(sql: string, options: ExecuteOptions | undefined): void {
    refuseTransactionControl(sql);
    if (options && !this.#connection.execute) throw cannotExecute();
  }

  send(sql: string, params: readonly unknown[] | undefined, options: ExecuteOptions | undefined): Promise<unknown> {
    const connection = this.#connection;
    const sent = options ? connection.execute?.(sql, params, options) : connection.query(sql, params);
    return sent instanceof Promise ? sent : Promise.resolve(sent);
  }

  rowsOf(sent: unknown): unknown {
    return sent;
  }

  failureOf(error: unknown): unknown {
    return error;
  }

  cancel(): unknown {
    return this.#connection.cancel?.();
  }

  release(destroy?: boolean | Error): unknown {
    return this.#connection.release(destroy);
  }
}

/** The session that a transaction takes over, of a pool of this package or of another one. */
export function sessionOf(connection: IPooledConnection): Session {
  return PooledConnection.sessionOf(connection) ?? new ForeignSession(connection);
}
