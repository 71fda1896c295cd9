import {
  type AcquireOptions,
  type BeginOptions,
  type ExecuteOptions,
  type ExecuteResult,
  type IDatabasePool,
  type IPooledConnection,
  type PoolSize,
  type Row,
  TransactionError,
} from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import type { Happenings } from './waiting.js';

/** @internal The calls of a pool and its connections; `destroy` is a release of a connection that nobody may have again. */
export type Step = 'acquire' | 'begin' | 'query' | 'commit' | 'rollback' | 'release' | 'destroy';

/** @internal */
export type Interference = (connection: WatchedConnection) => unknown;

/** @internal A checked-out connection, every step of which its pool sees. */
export class WatchedConnection implements IPooledConnection {
  readonly inner: IPooledConnection;
  readonly #pool: WatchedPool;
  #dead = false;

  constructor(inner: IPooledConnection, pool: WatchedPool) {
    this.inner = inner;
    this.#pool = pool;
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
    this.#pool.note(destroy === false ? 'release' : 'destroy');
    try {
      // A connection that was cut must not be checked out again, whatever the caller does.
      this.inner.release(destroy !== false || this.#dead);
    } finally {
      this.#pool.released(this);
    }
  }

  cancel(): void {
    this.inner.cancel?.();
  }

  async #step<T>(step: Step, act: () => Promise<T>): Promise<T> {
    this.#pool.note(step);
    await this.#pool.interfere('before', step, this);
    if (this.#dead) throw connectionLost();
    const result = await act();
    await this.#pool.interfere('after', step, this);
    return result;
  }
}

/** @internal The error of a pool whose connection is cut. */
export function connectionLost(): Error {
  return new TransactionError('AMBIT_TX_CONNECTION_LOST', 'The line to secret-host was cut', { sqlState: '08006' });
}

/** @internal Hands out another pool's connections, writes down every step, and lets a test step in between. */
export class WatchedPool implements IDatabasePool {
  /** Every step, in order, as it was asked for. */
  readonly steps: Step[] = [];
  readonly out = new Set<WatchedConnection>();
  checkedOut = 0;
  readonly #inner: IDatabasePool;
  readonly #happenings: Happenings;
  readonly #interferences = new Map<string, Interference>();
  #beforeAcquire: (() => unknown) | undefined;

  constructor(inner: IDatabasePool, happenings: Happenings) {
    this.#inner = inner;
    this.#happenings = happenings;
  }

  get size(): PoolSize {
    return this.#inner.size ?? { open: 0, idle: 0, waiting: 0 };
  }

  /** `act` is awaited before the step reaches the database; what it throws is the step's failure. */
  before(step: Step, act: Interference): void {
    this.#interferences.set(`before ${step}`, act);
  }

  /** `act` is awaited after the database has acted, before the result is delivered. */
  after(step: Step, act: Interference): void {
    this.#interferences.set(`after ${step}`, act);
  }

  beforeAcquire(act: () => unknown): void {
    this.#beforeAcquire = act;
  }

  async getConnection(options?: AcquireOptions): Promise<WatchedConnection> {
    this.note('acquire');
    await this.#beforeAcquire?.();
    const connection = new WatchedConnection(await this.#inner.getConnection(options), this);
    this.out.add(connection);
    this.checkedOut += 1;
    await this.interfere('after', 'acquire', connection);
    return connection;
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#inner.query<R>(sql, params);
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    return executeOn<R>(this.#inner, sql, params, options);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  /** Resolves when `step` was asked for so many times. */
  async reaches(step: Step, times = 1): Promise<void> {
    const soFar = (): number => this.steps.filter((taken) => taken === step).length;
    await this.#happenings.until(() => soFar() >= times, `${step} is asked for`);
  }

  note(step: Step): void {
    this.steps.push(step);
    this.#happenings.tell();
  }

  async interfere(when: 'before' | 'after', step: Step, connection: WatchedConnection): Promise<void> {
    await this.#interferences.get(`${when} ${step}`)?.(connection);
  }

  released(connection: WatchedConnection): void {
    this.out.delete(connection);
    this.#happenings.tell();
  }
}
