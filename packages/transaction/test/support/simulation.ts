import type { IContainer } from '@ambit/container';
import { Chance, FAULTS, type Play, type Parts, SimulatedCallbacks } from '@ambit/test-kit';
import {
  type IConnection,
  runInTransaction,
  type Transaction,
  TransactionError,
  transactionOf,
} from '../../src/index.js';
import { beginTransaction, TransactionStart } from '../../src/host.js';
import { type FakeFault, FakePool, SimulatedClock } from '../../src/testing/index.js';
import { TinyContainer } from './container.js';
import { foreignPool } from './foreign-pool.js';

const ALL = ['beforeCommit', 'beforeResponse', 'afterCommit', 'afterRollback', 'afterEnd'] as const;

/** How an end was reported to the caller. */
type Report = 'acknowledged' | 'failed' | 'unknown';

/** Plays the run that `seed` stands for and returns the guarantees that were broken: nothing, it is hoped. */
export const simulate: Play = (seed, _trace, parts) => new Simulation(seed, parts).play();

/** Set when the simulation itself made the disposal of a scope slow or fail. */
interface Unruly {
  is: boolean;
}

function isPending({ state }: Transaction): boolean {
  return state === 'acquired' || state === 'open';
}

class Simulation {
  readonly #chance: Chance;
  readonly #clock: SimulatedClock;
  readonly #pool: FakePool;
  /** Where the pool is not ours. */
  readonly #foreign: ReturnType<typeof foreignPool> | undefined;
  readonly #app: TinyContainer;
  readonly #broken: string[] = [];
  readonly #reports = new Map<string, Report>();
  readonly #transactions: { readonly transaction: Transaction; readonly mark: string }[] = [];
  readonly #callbacks: SimulatedCallbacks;
  readonly #faultRate: number;
  /** They may still wait for callbacks when the work has settled. */
  readonly #disposedFromTheSide = new Set<TinyContainer>();
  readonly #parts: Parts;
  #faults = 0;
  #unsettled = 0;
  #marks = 0;

  constructor(seed: number, parts: Parts) {
    this.#parts = parts;
    this.#chance = new Chance(seed);
    this.#clock = new SimulatedClock(this.#chance.next);
    this.#callbacks = new SimulatedCallbacks({
      chance: this.#chance,
      clock: this.#clock,
      broke: (guarantee) => void this.#broken.push(guarantee),
    });
    this.#faultRate = this.#chance.of(0.2) ? 0 : 0.15;
    this.#pool = new FakePool({
      max: 1 + this.#chance.below(2),
      acquireTimeoutMs: 500,
      clock: this.#clock,
      synchronous: this.#chance.of(0.25),
      faultAt: () => this.#faultAt(),
    });
    this.#foreign = this.#chance.of(0.5) ? foreignPool(this.#pool) : undefined;
    this.#app = new TinyContainer({ defers: this.#chance.of(0.7) });
    this.#app.register('IDatabasePool', () => this.#foreign?.pool ?? this.#pool);
  }

  async play(): Promise<string[]> {
    const requests = 1 + this.#chance.below(3);
    const names = Array.from({ length: requests }, (_, at) => `r${at + 1}`).filter((name) => this.#parts.has(name));
    const ends = names.map(() => this.#request());
    await this.#clock.run();
    this.#queryLate();
    await this.#clock.run();
    this.#expect(this.#unsettled === 0, `${this.#unsettled} pieces of work never settled`);
    this.#expect(this.#pool.out === 0, `${this.#pool.out} connections are out`);
    for (const scope of this.#app.open) {
      if (scope.tags.includes('transaction')) this.#broken.push('a transaction scope is open');
      if (scope.disposals > 1) this.#broken.push('a scope was disposed twice');
    }
    this.#broken.push(...this.#pool.violations, ...(this.#foreign?.violations ?? []));
    this.#compareWithStored();
    this.#callbacks.check(this.#pool.stored);
    await Promise.all(this.#unsettled > 0 ? [] : ends);
    return this.#broken;
  }

  async #request(): Promise<void> {
    const scope = this.#app.createScope({ tags: ['request'] });
    const client = new AbortController();
    if (this.#chance.of(0.3)) this.#later(() => client.abort(new Error('the client disconnected')));
    if (this.#chance.of(0.2)) this.#later(() => void this.#disposeFromTheSide(scope));
    const unruly = { is: false };
    const options = {
      signal: client.signal,
      clock: this.#clock,
      timeoutMs: this.#chance.of(0.2) ? this.#chance.below(200) : 5000,
      endTimeoutMs: 300,
      cancelAfterMs: this.#chance.below(50),
      begin: this.#chance.of(0.3) ? 'lazy' : 'now',
      onError: (error: TransactionError) => this.#onError(error, unruly),
    };
    this.#unsettled += 1;
    const mark = `m${(this.#marks += 1)}`;
    const work = this.#chance.of(0.5)
      ? this.#withCommit(scope, mark, unruly, options)
      : this.#run(scope, mark, unruly, options);
    const report = await this.#reportOf(work);
    this.#reports.set(mark, report);
    this.#unsettled -= 1;
    this.#expectNoScopeLeft(scope);
    const isDisposedFromTheSide = scope.disposals > 0;
    await scope.dispose().catch(() => undefined);
    if (!isDisposedFromTheSide) this.#callbacks.expectSettled(mark, ALL, 'after the disposal of the scope around it');
  }

  async #reportOf(work: Promise<void>): Promise<Report> {
    try {
      await work;
      return 'acknowledged';
    } catch (error) {
      return error instanceof TransactionError && error.code === 'AMBIT_TX_OUTCOME_UNKNOWN' ? 'unknown' : 'failed';
    }
  }

  async #run(scope: IContainer, mark: string, unruly: Unruly, options: object): Promise<void> {
    await runInTransaction(
      scope,
      async (inner) => {
        const transaction = transactionOf(inner);
        if (transaction) this.#meddle(transaction, mark, unruly);
        await this.#work(inner, mark);
      },
      { ...options, retries: this.#chance.below(3) },
    );
  }

  async #withCommit(scope: IContainer, mark: string, unruly: Unruly, options: object): Promise<void> {
    const transaction = await (this.#chance.of(0.5) ? beginTransaction(scope, options) : this.#start(scope, options));
    if (transaction.state !== 'open') this.#broken.push(`${mark} began and is ${transaction.state}`);
    this.#meddle(transaction, mark, unruly);
    try {
      await this.#work(transaction.scope, mark);
    } catch (error) {
      await this.#neverRejects(transaction.rollback(error));
      throw error;
    }
    const handle = transaction.connection;
    if (this.#chance.of(0.2)) return handle.commit();
    await transaction.commit();
    this.#callbacks.expectSettled(mark, ['beforeResponse'], 'after commit() has resolved');
  }

  /** Begun by somebody who may change their mind at any time, also before it has begun. */
  #start(scope: IContainer, options: object): Promise<Transaction> {
    const start = new TransactionStart(scope, options);
    const changeMind = async (): Promise<void> => {
      await this.#neverRejects(start.rollback(new Error('changed my mind')));
      this.#expect(!start.transaction || !isPending(start.transaction), 'rollback() left a transaction open');
    };
    if (this.#chance.of(0.3)) this.#later(() => void changeMind());
    return start.begun;
  }

  /** Queries, some unawaited, some caught, some nested, and now and then a plain failure. */
  async #work(scope: IContainer, mark: string): Promise<void> {
    const connection = scope.resolve<IConnection>('IConnection');
    const transaction = transactionOf(scope);
    if (transaction) this.#callbacks.register(transaction, mark);
    for (let steps = 1 + this.#chance.below(3); steps > 0; steps -= 1) {
      const query = connection.query(mark);
      if (this.#chance.of(0.25)) query.catch(() => undefined);
      else await (this.#chance.of(0.15) ? query.catch(() => undefined) : query);
      if (this.#chance.of(0.2)) await this.#nest(scope, connection, mark);
      if (this.#chance.of(0.2)) await this.#clock.sleep(this.#chance.below(100));
    }
    if (this.#chance.of(0.15)) throw new Error('the handler failed');
  }

  async #nest(scope: IContainer, connection: IConnection, mark: string): Promise<void> {
    const undone = this.#chance.of(0.3);
    let undo = (): void => undefined;
    const nested = runInTransaction(scope, async () => {
      const transaction = transactionOf(scope);
      if (transaction) undo = this.#callbacks.register(transaction, mark);
      await connection.query(undone ? 'undone' : 'nested');
      if (undone) throw new Error('the nested part failed');
    });
    nested.catch(() => undo());
    await (undone || this.#chance.of(0.5) ? nested.catch(() => undefined) : nested);
  }

  /** Everything that can commit, roll back or dispose a transaction from the side, at any time. */
  #meddle(transaction: Transaction, mark: string, unruly: Unruly): void {
    this.#transactions.push({ transaction, mark });
    const owner = transaction.scope as TinyContainer;
    const changedMind = new Error('changed my mind');
    if (this.#chance.of(0.1)) this.#later(() => void this.#neverRejects(transaction.rollback(changedMind)));
    if (this.#chance.of(0.1)) this.#later(() => void transaction.commit().catch(() => undefined));
    if (this.#chance.of(0.1)) this.#later(() => void this.#disposeFromTheSide(owner));
    if (this.#chance.of(0.05)) this.#later(() => void transaction.connection.rollback().catch(() => undefined));
    if (!this.#chance.of(0.2)) return;
    unruly.is = true;
    if (this.#chance.of(0.3)) owner.owns(() => this.#clock.sleep(this.#chance.below(400)));
    if (this.#chance.of(0.3)) owner.owns(() => Promise.reject(new Error('an instance failed to dispose')));
    if (this.#chance.of(0.3)) owner.owns(() => transaction.connection.commit());
    if (this.#chance.of(0.3)) owner.owns(() => transaction.connection.query('from a dispose'));
    if (this.#chance.of(0.3)) owner.owns(() => transaction.rollback());
  }

  async #disposeFromTheSide(scope: TinyContainer): Promise<void> {
    this.#disposedFromTheSide.add(scope);
    await scope.dispose().catch(() => undefined);
    for (const { transaction, mark } of this.#transactions) {
      const within = transaction.scope === scope || (transaction.scope as TinyContainer).parent === scope;
      if (within && isPending(transaction)) this.#broken.push(`${mark} outlived its scope`);
    }
  }

  #onError(error: TransactionError, unruly: Unruly): void {
    if (error.code === 'AMBIT_TX_SCOPE_FAILED' && !unruly.is) this.#broken.push(error.message);
  }

  #expectNoScopeLeft(request: TinyContainer): void {
    for (const scope of this.#app.open) {
      const isDisposedOnce = scope.disposals === 1 || this.#disposedFromTheSide.has(scope);
      this.#expect(scope.parent !== request || isDisposedOnce, `a scope was disposed ${scope.disposals} times`);
    }
  }

  /** Whatever became of a transaction, its connection refuses from then on, without a word to the database. */
  #queryLate(): void {
    for (const { transaction, mark } of this.#transactions) {
      transaction.connection.query('late').then(
        () => this.#broken.push(`${mark} ran a query after its end`),
        () => undefined,
      );
    }
  }

  #compareWithStored(): void {
    if (this.#pool.stored.includes('undone')) this.#broken.push('what a nested run undid was stored');
    for (const { transaction, mark } of this.#transactions) {
      if (isPending(transaction)) this.#broken.push(`${mark} is ${transaction.state}`);
    }
    for (const [mark, report] of this.#reports) {
      const stored = this.#pool.stored.includes(mark);
      const states = this.#transactions.filter((one) => one.mark === mark).map(({ transaction }) => transaction.state);
      const committed = states.includes('committed');
      this.#expect(report !== 'acknowledged' || (stored && committed), `${mark} was acknowledged, not stored`);
      this.#expect(!committed || stored, `${mark} is committed, not stored`);
      this.#expect(!stored || committed || states.includes('unknown'), `${mark} was stored, not committed`);
      this.#expect(states.filter((state) => state !== 'rolled back').length <= 1, `${mark} was done twice`);
    }
  }

  #expect(holds: boolean, otherwise: string): void {
    if (!holds) this.#broken.push(otherwise);
  }

  #faultAt(): FakeFault {
    const ms = this.#chance.of(0.8) ? this.#chance.below(20) : this.#chance.below(600);
    this.#faults += 1;
    if (!this.#chance.of(this.#faultRate) || !this.#parts.has(`f${this.#faults}`)) return { ms, kind: 'none' };
    return { ms, kind: this.#chance.pick(FAULTS) };
  }

  async #neverRejects(rollback: Promise<void>): Promise<void> {
    await rollback.catch(() => this.#broken.push('rollback() rejected'));
  }

  #later(fn: () => void): void {
    this.#clock.setTimer(fn, this.#chance.below(300));
  }
}
