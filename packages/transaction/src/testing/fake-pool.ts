import { type Clock, systemClock } from '../core/clock.js';
import type { AcquireOptions, DatabasePool, ExecuteResult, PoolSize, Row } from '../core/contract.js';
import { WaitQueue } from '../pool/wait-queue.js';
import { FakeConnection } from './fake-connection.js';
import type { FakeFault, FaultPoint } from './faults.js';

/** How many connections a `FakePool` has, and what happens at each step. */
export interface FakePoolOptions {
  /** How many connections. Default 4. */
  readonly max?: number;
  /** How long a caller waits for a connection. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
  /** Its connections do all but BEGIN before the call returns, and say so, as those of SQLite do. Default false. */
  readonly synchronous?: boolean;
  /** Decides the result of each step. Default: every step succeeds at once. */
  readonly faultAt?: (point: FaultPoint) => FakeFault;
}

/**
 * A pool without a database: a statement is remembered as text, and stored when its transaction commits.
 *
 * @example
 * ```ts
 * import type { IDatabasePool } from '@ambit/transaction';
 * import { FakePool } from '@ambit/transaction/testing';
 *
 * async function committed(work: (pool: IDatabasePool) => Promise<void>): Promise<readonly string[]> {
 *   const pool = new FakePool();
 *   await work(pool);
 *   return pool.stored;
 * }
 * ```
 */
export class FakePool implements DatabasePool {
  /** The statements of committed transactions, in order of commit, and those that ran in none. */
  readonly stored: string[] = [];
  /** What a caller did that no caller may do, such as a query after COMMIT. A test expects none. */
  readonly violations: string[] = [];
  readonly #queue: WaitQueue;
  readonly #max: number;
  readonly #acquireTimeoutMs: number;
  readonly #clock: Clock;
  readonly #synchronous: boolean;
  readonly #faultAt: (point: FaultPoint) => FakeFault;

  /** @param options - how many connections there are, and what happens at each step */
  constructor({
    max = 4,
    acquireTimeoutMs = 5000,
    clock = systemClock,
    synchronous = false,
    faultAt = noFault,
  }: FakePoolOptions = {}) {
    this.#max = max;
    this.#acquireTimeoutMs = acquireTimeoutMs;
    this.#clock = clock;
    this.#synchronous = synchronous;
    this.#faultAt = faultAt;
    this.#queue = new WaitQueue(max, { clock, maxWaiting: Infinity });
  }

  /** How many connections are checked out. */
  get out(): number {
    return this.#queue.taken;
  }

  get size(): PoolSize {
    return { open: this.#max, idle: this.#max - this.#queue.taken, waiting: this.#queue.waiting };
  }

  /**
   * Checks a connection out, as `faultAt('acquire')` says.
   *
   * @param options - how long to wait, and a signal that stops the wait
   * @returns a connection without a database
   * @throws `TransactionError` `AMBIT_TX_ACQUIRE_TIMEOUT`, `AMBIT_TX_POOL_CLOSED` or `AMBIT_TX_ABORTED`: no connection became free
   * @throws an `Error` at every fault but `never`, which lets the call wait forever
   */
  async getConnection(options: AcquireOptions = {}): Promise<FakeConnection> {
    const leave = await this.#queue.enter(options, options.timeoutMs ?? this.#acquireTimeoutMs);
    const { ms, kind } = this.#faultAt('acquire');
    if (kind === 'never') {
      leave();
      return new Promise(() => undefined);
    }
    await new Promise<void>((resolve) => void this.#clock.setTimer(resolve, ms));
    if (kind !== 'none') {
      leave();
      throw new Error('no connection could be made');
    }
    return new FakeConnection({
      clock: this.#clock,
      faultAt: this.#faultAt,
      synchronous: this.#synchronous,
      violate: (rule) => void this.violations.push(rule),
      store: (statements) => void this.stored.push(...statements),
      onRelease: leave,
    });
  }

  /**
   * Stores the text of one statement.
   *
   * @param sql - the statement; its parameters are not looked at
   * @returns no rows
   * @throws what `getConnection()` throws, and an `Error` at a fault of the statement
   */
  async query<R extends object = Row>(sql: string): Promise<R[]> {
    const connection = await this.getConnection();
    try {
      return await connection.query<R>(sql);
    } finally {
      connection.release();
    }
  }

  /**
   * Stores the text of one statement.
   *
   * @param sql - the statement; its parameters are not looked at
   * @returns no rows, and 0 changed rows
   * @throws what `getConnection()` throws, and an `Error` at a fault of the statement
   */
  async execute<R extends object = Row>(sql: string): Promise<ExecuteResult<R>> {
    const connection = await this.getConnection();
    try {
      return await connection.execute<R>(sql);
    } finally {
      connection.release();
    }
  }

  async close(): Promise<void> {
    this.#queue.close();
    await this.#queue.empty();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function noFault(): FakeFault {
  return { ms: 0, kind: 'none' };
}
