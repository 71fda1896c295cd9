import { type Clock, systemClock } from '../clock.js';
import type { AcquireOptions, ExecuteResult } from '../contract.js';
import { connectionLost, refusedStatement } from '../errors.js';
import { sqlStateOf } from '../sql-state.js';
import type { Driver, Language, Wire } from '../pool/driver.js';
import { Pool, type PooledConnection } from '../pool/pool.js';
import { commandOf } from '../sql/command.js';
import { isRollbackTo } from '../sql/control-statements.js';
import { POSTGRES } from '../sql/lexer.js';

/** A step at which a `FakePool` may fail; `query` is every statement but BEGIN, COMMIT and ROLLBACK. */
export type FaultPoint = 'acquire' | 'begin' | 'query' | 'commit' | 'rollback' | 'cancel';

/**
 * A fault of one step: it takes `ms`, then goes well; or is refused, or refused as a conflict (40001); or the
 * connection dies before the database acted (`lost`) or after (`lost after`); or no response ever comes, not even
 * from `getConnection()`.
 */
export interface FakeFault {
  /** The time that the step takes, in milliseconds. */
  readonly ms: number;
  /** The fault itself. */
  readonly kind: 'none' | 'refused' | 'conflict' | 'lost' | 'lost after' | 'never';
}

function databaseError(message: string, sqlState: string): Error {
  return Object.assign(new Error(message), { code: sqlState });
}

interface FakeDatabase {
  readonly clock: Clock;
  readonly synchronous: boolean;
  readonly faultAt: (point: FaultPoint) => FakeFault;
  readonly stored: string[];
  readonly violations: string[];
}

const LANGUAGE: Language = {
  begin: () => ['BEGIN'],
  leavesSessionState: () => false,
  translate: (error, { isLost }) => (isLost ? connectionLost(error) : refusedStatement(error, sqlStateOf(error))),
};

/** One statement of the pool's own, or of the user's. */
function pointOf(sql: string, params: readonly unknown[] | undefined): FaultPoint {
  if (params) return 'query';
  return sql === 'COMMIT' ? 'commit' : sql === 'ROLLBACK' ? 'rollback' : 'begin';
}

/**
 * A connection that behaves like PostgreSQL: it remembers what each transaction did, fails where the test says, and
 * records everything that a correct caller would never do.
 */
class FakeWire implements Wire {
  readonly synchronous: boolean;
  isLost = false;
  readonly #database: FakeDatabase;
  #state: 'idle' | 'open' | 'failed' = 'idle';
  #written: string[] = [];
  #savepoints: { readonly name: string; readonly written: number }[] = [];
  /** A COMMIT has succeeded, or a ROLLBACK was sent. */
  #isOver = false;
  /** Rejects the statement in progress. */
  #interrupt: ((error: Error) => void) | undefined = undefined;

  constructor(database: FakeDatabase) {
    this.#database = database;
    this.synchronous = database.synchronous;
  }

  /** The request is sent, the database acts, the response is sent. Each of the three can fail. */
  send(sql: string, params?: readonly unknown[]): ExecuteResult<never> | Promise<ExecuteResult<never>> {
    const point = pointOf(sql, params);
    this.#checkUse(sql, point);
    if (point === 'rollback') this.#isOver = true;
    const { ms, kind } = this.#database.faultAt(point);
    // Only BEGIN may wait there; for anything else no response can get lost.
    if (this.synchronous && point !== 'begin') return this.#arrive(sql, point, kind === 'never' ? 'lost' : kind);
    return new Promise((resolve, reject) => {
      const interrupt = (this.#interrupt = (error: Error): void => {
        this.#interrupt = undefined;
        if (this.#state === 'open') this.#state = 'failed';
        reject(error);
      });
      const arrive = (): void => {
        // Nobody waits for a statement that was cancelled meanwhile.
        if (this.#interrupt !== interrupt) return;
        this.#interrupt = undefined;
        // An async function turns a throw into a rejection.
        resolve((async () => this.#arrive(sql, point, kind))());
      };
      if (kind !== 'never') this.#database.clock.setTimer(arrive, ms);
    });
  }

  cancel(): void {
    const { clock, faultAt } = this.#database;
    const { ms, kind } = faultAt('cancel');
    if (kind === 'never') return;
    clock.setTimer(() => this.#interrupt?.(databaseError('canceled on request', '57014')), ms);
  }

  release(): void {
    this.#isOver = true;
  }

  #checkUse(sql: string, point: FaultPoint): void {
    const { violations } = this.#database;
    if (this.#isOver) violations.push(`"${sql}" after COMMIT, ROLLBACK or release()`);
    if (point === 'commit' && this.#state === 'failed') violations.push('COMMIT after a failure was seen');
    if (this.#interrupt) violations.push(`"${sql}" during another statement`);
  }

  #arrive(sql: string, point: FaultPoint, kind: FakeFault['kind']): ExecuteResult<never> {
    if (this.isLost || kind === 'lost') throw this.#die();
    if (kind === 'refused' || kind === 'conflict') throw this.#refuse(point, kind === 'conflict' ? '40001' : '55000');
    const command = this.#act(sql, point);
    if (kind === 'lost after') throw this.#die();
    return { rows: [], rowCount: 0, command, fields: [] };
  }

  #act(sql: string, point: FaultPoint): string {
    if (point === 'query') {
      this.#execute(sql);
      return commandOf(sql, POSTGRES);
    }
    const commits = point === 'commit' && this.#state === 'open';
    if (commits) this.#database.stored.push(...this.#written);
    this.#isOver ||= commits;
    this.#written = [];
    this.#state = point === 'begin' ? 'open' : 'idle';
    // In response to the COMMIT of a failed transaction PostgreSQL says that it has rolled back.
    return point === 'commit' && !commits ? 'ROLLBACK' : sql;
  }

  #execute(sql: string): void {
    if (isRollbackTo(sql)) return this.#rollbackTo(sql);
    if (this.#state === 'failed') throw databaseError('the transaction is aborted', '25P02');
    const savepoint = /^SAVEPOINT (\w+)/.exec(sql)?.[1];
    const release = /^RELEASE SAVEPOINT (\w+)/.exec(sql)?.[1];
    if (savepoint) this.#savepoints.push({ name: savepoint, written: this.#written.length });
    else if (release) this.#savepoints.splice(this.#find(release));
    else if (this.#state === 'open') this.#written.push(sql);
    else this.#database.stored.push(sql);
  }

  #rollbackTo(sql: string): void {
    const index = this.#find(sql.split(' ').at(-1) ?? '');
    this.#written.length = this.#savepoints[index]?.written ?? 0;
    this.#savepoints.length = index + 1;
    this.#state = 'open';
  }

  #find(name: string): number {
    const index = this.#savepoints.map((savepoint) => savepoint.name).lastIndexOf(name);
    if (index !== -1) return index;
    if (this.#state === 'open') this.#state = 'failed';
    throw databaseError(`no such savepoint: ${name}`, '3B001');
  }

  /** A statement that was refused makes the transaction fail; after a refused COMMIT or ROLLBACK it is over. */
  #refuse(point: FaultPoint, sqlState: string): Error {
    if (point === 'query') this.#state = this.#state === 'idle' ? 'idle' : 'failed';
    else {
      this.#state = 'idle';
      this.#written = [];
    }
    return databaseError('refused', sqlState);
  }

  #die(): Error {
    this.isLost = true;
    return new Error('the connection died');
  }
}

/** How many connections a `FakePool` has, and what happens at each step. */
export interface FakePoolOptions {
  /** How many connections. Default 4. */
  readonly max?: number;
  /** The time that a caller waits for a connection. Default 5 s. */
  readonly acquireTimeoutMs?: number;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
  /** Its connections do all but BEGIN before the call returns, and say so, as those of SQLite do. Default false. */
  readonly synchronous?: boolean;
  /** Decides the result of each step. Default: every step succeeds at once. */
  readonly faultAt?: (point: FaultPoint) => FakeFault;
}

/**
 * A pool without a database: a statement is remembered as text, and stored when its transaction commits. It queues, checks and
 * refuses as every pool of this package does; only what its connections lead to is not there.
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
export class FakePool extends Pool {
  /** The statements of committed transactions, in order of commit, and those that ran in none. */
  readonly stored: string[];
  /** The calls that no caller may make, such as a query after COMMIT. A test expects none. */
  readonly violations: string[];
  readonly #clock: Clock;
  readonly #faultAt: (point: FaultPoint) => FakeFault;

  /** @param options - how many connections there are, and what happens at each step */
  constructor({
    max = 4,
    acquireTimeoutMs = 5000,
    clock = systemClock,
    synchronous = false,
    faultAt = noFault,
  }: FakePoolOptions = {}) {
    const database: FakeDatabase = { clock, synchronous, faultAt, stored: [], violations: [] };
    super(driverOf(database, max), { acquireTimeoutMs, maxWaiting: Infinity, closeTimeoutMs: Infinity, clock });
    this.stored = database.stored;
    this.violations = database.violations;
    this.#clock = clock;
    this.#faultAt = faultAt;
  }

  /** The number of connections that are checked out. */
  get out(): number {
    return this.size.open - this.size.idle;
  }

  /**
   * Checks a connection out, as `faultAt('acquire')` says.
   *
   * @param options - how long to wait, and a signal that stops the wait
   * @returns a connection without a database
   * @throws `TransactionError` `AMBIT_TX_ACQUIRE_TIMEOUT`, `AMBIT_TX_POOL_CLOSED` or `AMBIT_TX_ABORTED`: no connection became free
   * @throws an `Error` at every fault but `never`, which lets the call wait forever
   */
  override async getConnection(options?: AcquireOptions): Promise<PooledConnection> {
    const connection = await super.getConnection(options);
    const { ms, kind } = this.#faultAt('acquire');
    if (kind !== 'never') await new Promise<void>((resolve) => void this.#clock.setTimer(resolve, ms));
    if (kind === 'none') return connection;
    connection.release();
    if (kind === 'never') return new Promise(() => undefined);
    throw new Error('no connection could be made');
  }
}

function driverOf(database: FakeDatabase, max: number): Driver {
  return {
    language: LANGUAGE,
    max,
    size: { open: max },
    connect: () => new FakeWire(database),
    close: () => Promise.resolve(),
  };
}

function noFault(): FakeFault {
  return { ms: 0, kind: 'none' };
}
