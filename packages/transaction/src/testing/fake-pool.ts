import { type Clock, systemClock } from '../core/clock.js';
import type {
  AcquireOptions,
  DatabaseConnection,
  DatabasePool,
  ExecuteResult,
  PoolSize,
  Row,
} from '../core/contract.js';
import { WaitQueue } from '../pool/pool.js';
import { commandOf } from '../sql/command.js';
import { isRollbackTo } from '../sql/control-statements.js';
import { POSTGRES } from '../sql/lexer.js';

/** A step at which a `FakePool` may fail; `query` is every statement but BEGIN, COMMIT and ROLLBACK. */
export type FaultPoint = 'acquire' | 'begin' | 'query' | 'commit' | 'rollback' | 'cancel';

/**
 * What happens to one step: it takes `ms`, then goes well; or is refused, or refused as a conflict (40001); or the
 * connection dies before the database acted (`lost`) or after (`lost after`); or no response ever comes, not even
 * from `getConnection()`.
 */
export interface FakeFault {
  /** How long the step takes, in milliseconds. */
  readonly ms: number;
  /** What happens then. */
  readonly kind: 'none' | 'refused' | 'conflict' | 'lost' | 'lost after' | 'never';
}

export function databaseError(message: string, sqlState: string): Error {
  return Object.assign(new Error(message), { code: sqlState });
}

export interface FakeCheckout {
  readonly clock: Clock;
  readonly faultAt: (point: FaultPoint) => FakeFault;
  readonly synchronous: boolean;
  readonly violate: (rule: string) => void;
  readonly store: (statements: readonly string[]) => void;
  readonly onRelease: () => void;
}

type Session = 'idle' | 'open' | 'failed' | 'dead';

/**
 * A connection that behaves like PostgreSQL: it remembers what each transaction did, fails where the test says, and
 * records everything that a correct caller would never do.
 */
export class FakeConnection implements DatabaseConnection {
  readonly synchronous: boolean;
  readonly #checkout: FakeCheckout;
  #session: Session = 'idle';
  #written: string[] = [];
  #savepoints: { readonly name: string; readonly written: number }[] = [];
  #busy = false;
  #completed = false;
  #released = false;
  #cancelled = false;
  /** Rejects the statement in progress. */
  #interrupt: ((error: Error) => void) | undefined;

  constructor(checkout: FakeCheckout) {
    this.#checkout = checkout;
    this.synchronous = checkout.synchronous;
  }

  beginTransaction(): Promise<void> {
    if (this.#session !== 'idle') this.#checkout.violate('BEGIN in an open transaction');
    return this.#statement('begin', () => {
      this.#session = 'open';
    });
  }

  commit(): Promise<void> {
    if (this.#session === 'failed') this.#checkout.violate('COMMIT after a failure was seen');
    if (this.#completed) this.#checkout.violate('COMMIT after COMMIT or ROLLBACK');
    this.#completed = true;
    const written = this.#written;
    return this.#statement('commit', () => {
      const stores = this.#session === 'open';
      this.#finish();
      if (!stores) throw databaseError('COMMIT of a failed transaction rolled back', '40000');
      this.#checkout.store(written);
    });
  }

  rollback(): Promise<void> {
    if (this.#completed) this.#checkout.violate('ROLLBACK after COMMIT or ROLLBACK');
    this.#completed = true;
    return this.#statement('rollback', () => this.#finish());
  }

  async query<R extends object = Row>(sql: string): Promise<R[]> {
    if (this.#completed) this.#checkout.violate(`"${sql}" after COMMIT or ROLLBACK`);
    await this.#statement('query', () => this.#execute(sql));
    return [];
  }

  /** There are no rows here, so none were changed. */
  async execute<R extends object = Row>(sql: string): Promise<ExecuteResult<R>> {
    const rows = await this.query<R>(sql);
    return { rows, rowCount: 0, command: commandOf(sql, POSTGRES), fields: [] };
  }

  cancel(): void {
    this.#cancelled = true;
    const { ms, kind } = this.#checkout.faultAt('cancel');
    if (kind === 'never') return;
    this.#checkout.clock.setTimer(() => this.#interrupt?.(databaseError('canceled on request', '57014')), ms);
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) return this.#checkout.violate('released twice');
    this.#released = true;
    if (destroy === false) {
      if (this.#session !== 'idle') this.#checkout.violate(`released while ${this.#session}`);
      if (this.#busy) this.#checkout.violate('released during a statement');
      if (this.#cancelled) this.#checkout.violate('released after a cancel request');
    }
    this.#checkout.onRelease();
  }

  #execute(sql: string): void {
    if (isRollbackTo(sql)) return this.#rollbackTo(sql);
    if (this.#session === 'failed') throw databaseError('the transaction is aborted', '25P02');
    const savepoint = /^SAVEPOINT (\w+)/.exec(sql)?.[1];
    const release = /^RELEASE SAVEPOINT (\w+)/.exec(sql)?.[1];
    if (savepoint) this.#savepoints.push({ name: savepoint, written: this.#written.length });
    else if (release) this.#savepoints.splice(this.#find(release));
    else if (this.#session === 'open') this.#written.push(sql);
    else this.#checkout.store([sql]);
  }

  #rollbackTo(sql: string): void {
    const index = this.#find(sql.split(' ').at(-1) ?? '');
    this.#written.length = this.#savepoints[index]?.written ?? 0;
    this.#savepoints.length = index + 1;
    this.#session = 'open';
  }

  #find(name: string): number {
    const index = this.#savepoints.map((savepoint) => savepoint.name).lastIndexOf(name);
    if (index === -1) throw databaseError(`no such savepoint: ${name}`, '3B001');
    return index;
  }

  #finish(): void {
    this.#session = 'idle';
    this.#written = [];
  }

  /** One statement: the request is sent, the database acts, the response is sent. Each of the three can fail. */
  #statement(point: FaultPoint, act: () => void): Promise<void> {
    const { clock, faultAt, violate } = this.#checkout;
    if (this.#released) violate(`${point} after release`);
    if (this.#busy) violate(`${point} during another statement`);
    const { ms, kind } = faultAt(point);
    this.#busy = true;
    return new Promise<void>((resolve, reject) => {
      const respond = (error?: Error): void => {
        if (!this.#interrupt) return;
        this.#interrupt = undefined;
        this.#busy = false;
        if (!error) return resolve();
        if (this.#session === 'open') this.#session = 'failed';
        reject(error);
      };
      this.#interrupt = respond;
      // Only BEGIN may wait there; for anything else no response can get lost.
      if (this.synchronous && point !== 'begin') this.#arrive(kind === 'never' ? 'lost' : kind, act, respond);
      else if (kind !== 'never') clock.setTimer(() => this.#arrive(kind, act, respond), ms);
    });
  }

  #arrive(kind: FakeFault['kind'], act: () => void, respond: (error?: Error) => void): void {
    // Nobody waits for a statement that was cancelled meanwhile.
    if (!this.#interrupt) return;
    if (this.#session === 'dead' || kind === 'lost') return this.#die(respond);
    if (kind === 'refused') return respond(this.#refuse('55000'));
    if (kind === 'conflict') return respond(this.#refuse('40001'));
    try {
      act();
    } catch (error) {
      return respond(error as Error);
    }
    return kind === 'lost after' ? this.#die(respond) : respond();
  }

  #refuse(sqlState: string): Error {
    // After a refused COMMIT the transaction is over.
    if (this.#completed) this.#finish();
    return databaseError('refused', sqlState);
  }

  #die(respond: (error?: Error) => void): void {
    this.#session = 'dead';
    respond(new Error('the connection died'));
  }
}

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
