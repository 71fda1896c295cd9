import {
  type BeginOptions,
  type ExecuteOptions,
  type ExecuteResult,
  type IPooledConnection,
  type Row,
  TransactionError,
} from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';

/** @internal The calls of a pool and its connections; `destroy` is a release of a connection that nobody may have again. */
export type Step = 'acquire' | 'begin' | 'query' | 'commit' | 'rollback' | 'release' | 'destroy';

/** @internal */
export interface Interfere {
  note(step: Step): void;
  before(step: Step): Promise<void>;
  after(step: Step): Promise<void>;
  disconnected(): void;
}

/** @internal A checked-out connection, every step of which its pool sees. */
export class WatchedConnection implements IPooledConnection {
  readonly inner: IPooledConnection;
  readonly #interfere: Interfere;
  #dead = false;

  constructor(inner: IPooledConnection, interfere: Interfere) {
    this.inner = inner;
    this.#interfere = interfere;
  }

  /** From now on nothing gets through any more, as when the line is cut. */
  die(): void {
    this.#dead = true;
  }

  beginTransaction(options?: BeginOptions): Promise<void> {
    return this.#step('begin', () => this.inner.beginTransaction(options));
  }

  commit(): Promise<void> {
    return this.#step('commit', () => this.inner.commit());
  }

  rollback(): Promise<void> {
    return this.#step('rollback', () => this.inner.rollback());
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#step('query', () => this.inner.query<R>(sql, params));
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    return this.#step('query', () => executeOn<R>(this.inner, sql, params, options));
  }

  release(destroy: boolean | Error = false): void {
    this.#interfere.note(destroy === false ? 'release' : 'destroy');
    try {
      // A connection that was cut must not be checked out again, whatever the caller does.
      this.inner.release(destroy !== false || this.#dead);
    } finally {
      this.#interfere.disconnected();
    }
  }

  cancel(): void {
    this.inner.cancel?.();
  }

  async #step<T>(step: Step, act: () => Promise<T>): Promise<T> {
    this.#interfere.note(step);
    await this.#interfere.before(step);
    if (this.#dead) throw connectionLost();
    const result = await act();
    await this.#interfere.after(step);
    return result;
  }
}

/** @internal The error of a pool whose connection is cut. */
export function connectionLost(): Error {
  return new TransactionError('AMBIT_TX_CONNECTION_LOST', 'The line to secret-host was cut', { sqlState: '08006' });
}
