import type { AcquireOptions, ExecuteOptions, ExecuteResult, IDatabasePool, PoolSize, Row } from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import type { Happenings } from './waiting.js';
import { type Interfere, type Step, WatchedConnection } from './watched-connection.js';

/** @internal */
export type Interference = (connection: WatchedConnection) => unknown;

/** @internal Hands out another pool's connections, writes down every step, and lets a test step in between. */
export class WatchedPool implements IDatabasePool {
  /** Every step, in order, as it was asked for. */
  readonly steps: Step[] = [];
  /** Connections that are checked out. */
  readonly out = new Set<WatchedConnection>();
  /** How many were checked out so far. */
  checkedOut = 0;
  readonly #inner: IDatabasePool;
  readonly #happenings: Happenings;
  readonly #before = new Map<Step, Interference>();
  readonly #after = new Map<Step, Interference>();
  #beforeAcquire: (() => unknown) | undefined;

  constructor(inner: IDatabasePool, happenings: Happenings) {
    this.#inner = inner;
    this.#happenings = happenings;
  }

  get size(): PoolSize {
    return this.#inner.size ?? { open: 0, idle: 0, waiting: 0 };
  }

  /** `interfere` is awaited before the step reaches the database; what it throws is the step's failure. */
  before(step: Step, interfere: Interference): void {
    this.#before.set(step, interfere);
  }

  /** `interfere` is awaited after the database has acted, before the result is delivered. */
  after(step: Step, interfere: Interference): void {
    this.#after.set(step, interfere);
  }

  beforeAcquire(interfere: () => unknown): void {
    this.#beforeAcquire = interfere;
  }

  async getConnection(options?: AcquireOptions): Promise<WatchedConnection> {
    this.#note('acquire');
    await this.#beforeAcquire?.();
    const inner = await this.#inner.getConnection(options);
    const interfere: Interfere = {
      note: (step) => this.#note(step),
      before: async (step) => void (await this.#before.get(step)?.(connection)),
      after: async (step) => void (await this.#after.get(step)?.(connection)),
      disconnected: () => {
        this.out.delete(connection);
        this.#happenings.tell();
      },
    };
    const connection: WatchedConnection = new WatchedConnection(inner, interfere);
    this.out.add(connection);
    this.checkedOut += 1;
    await interfere.after('acquire');
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

  #note(step: Step): void {
    this.steps.push(step);
    this.#happenings.tell();
  }
}
