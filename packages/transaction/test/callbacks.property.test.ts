import type { IContainer } from '@ambit/container';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { afterCommit, type IConnection, runInTransaction, transactionOf } from '../src/index.js';
import { databaseError } from '../src/testing/fake-pool.js';
import { FakePool, SimulatedClock } from '../src/testing/index.js';
import { type Kind, reference, RETRIES, type Run, type Step } from './support/callbacks-reference.js';
import { requestScope } from './support/requests.js';

/** The same tree, played by the implementation. */
class Player {
  readonly #log: string[] = [];
  readonly #clock = new SimulatedClock();
  readonly #times = new Map<object, number>();
  #savepoints = 0;
  #nextCommit = '';
  readonly #pool = new FakePool({
    max: 20,
    clock: this.#clock,
    synchronous: true,
    faultAt: (point) => ({ ms: 0, kind: point === 'commit' ? this.#commitFault() : 'none' }),
  });

  async play(root: Run): Promise<string[]> {
    const request = requestScope(this.#pool);
    const played = this.#run(root, request).catch(() => undefined);
    await this.#clock.run();
    await played;
    return [...this.#log, ...this.#pool.violations, ...(this.#pool.out > 0 ? ['a connection is out'] : [])];
  }

  async #run(run: Run, scope: IContainer): Promise<void> {
    const options = { propagation: run.how, clock: this.#clock, retries: RETRIES } as const;
    const around = transactionOf(scope);
    const terms = run.how === 'nested' && around ? { propagation: run.how } : options;
    const work = async (inner: IContainer): Promise<void> => {
      const begins = transactionOf(inner) !== around;
      await this.#take(run.steps, inner);
      this.#raise(this.#nextOf(run.faults));
      if (begins) transactionOf(inner)?.beforeCommit(() => this.#setCommit(run));
    };
    await runInTransaction(scope, work, terms);
  }

  async #take(steps: readonly Step[], scope: IContainer): Promise<void> {
    for (const step of steps) {
      if (step.type === 'run')
        await (step.isCaught ? this.#run(step, scope).catch(() => undefined) : this.#run(step, scope));
      else if (step.type === 'savepoint') await this.#savepoint(step, scope);
      else this.#register(step, scope);
    }
  }

  /** As an ORM does it. */
  async #savepoint({ isUndone, steps }: Step & { type: 'savepoint' }, scope: IContainer): Promise<void> {
    if (!transactionOf(scope)) return;
    const connection = scope.resolve<IConnection>('IConnection');
    const name = `of_orm_${(this.#savepoints += 1)}`;
    await connection.query(`SAVEPOINT ${name}`);
    await this.#take(steps, scope);
    await connection.query(isUndone ? `ROLLBACK TO ${name}` : `RELEASE SAVEPOINT ${name}`);
  }

  #register({ kind, name, faults }: Step & { type: 'register' }, scope: IContainer): void {
    const transaction = transactionOf(scope);
    const note = (what: string = kind) => void this.#log.push(`${name} ${what}`);
    if (!transaction) return kind === 'afterCommit' ? afterCommit(scope, () => note('at once')) : undefined;
    const registrations: Record<Kind, () => void> = {
      beforeCommit: () =>
        transaction.beforeCommit(async () => {
          note();
          this.#raise(this.#nextOf(faults));
        }),
      'before the response': () => transaction.afterCommit(() => note(), { before: 'response' }),
      afterCommit: () => afterCommit(scope, () => note()),
      afterRollback: () => transaction.afterRollback(() => note()),
      afterEnd: () => transaction.afterEnd((outcome) => note(outcome)),
    };
    registrations[kind]();
  }

  /** The last thing before COMMIT. */
  #setCommit(run: Run): void {
    this.#nextCommit = this.#nextOf(run.commits);
  }

  #commitFault(): 'none' | 'refused' | 'conflict' | 'lost after' {
    const fault = this.#nextCommit;
    this.#nextCommit = '';
    return fault === 'unknown'
      ? 'lost after'
      : fault === 'plain'
        ? 'refused'
        : fault === 'conflict'
          ? 'conflict'
          : 'none';
  }

  #nextOf(faults: readonly string[]): string {
    const time = this.#times.get(faults) ?? 0;
    this.#times.set(faults, time + 1);
    return faults[time] ?? '';
  }

  #raise(fault: string): void {
    if (fault) throw databaseError(fault, fault === 'conflict' ? '40001' : '55000');
  }
}

const times = <T extends string>(...faults: readonly T[]): fc.Arbitrary<(T | '')[]> =>
  fc.array(
    fc.oneof({ weight: 3, arbitrary: fc.constant('' as const) }, { weight: 2, arbitrary: fc.constantFrom(...faults) }),
    { maxLength: 3 },
  );

const { run: runs } = fc.letrec<{ step: Step; run: Run }>((tie) => ({
  step: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    {
      weight: 5,
      arbitrary: fc.record({
        type: fc.constant('register' as const),
        name: fc.constant(''),
        kind: fc.constantFrom('beforeCommit', 'before the response', 'afterCommit', 'afterRollback', 'afterEnd'),
        faults: fc.oneof(
          { weight: 4, arbitrary: fc.constant([]) },
          { weight: 1, arbitrary: times('plain', 'conflict') },
        ),
      }),
    },
    { weight: 3, arbitrary: tie('run') },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('savepoint' as const),
        isUndone: fc.boolean(),
        steps: fc.array(tie('step'), { maxLength: 3 }),
      }),
    },
  ),
  run: fc.record({
    type: fc.constant('run' as const),
    how: fc.constantFrom('nested', 'nested', 'required', 'requires-new', 'mandatory', 'never'),
    steps: fc.array(tie('step'), { maxLength: 4 }),
    faults: times('plain', 'conflict'),
    commits: times('plain', 'conflict', 'unknown'),
    isCaught: fc.boolean(),
  }),
}));

/** Names every callback by its place, and makes every list of faults an object of its own. */
function named<T extends Step>(step: T, path = 'c'): T {
  const own = 'faults' in step ? { ...step, faults: [...step.faults] } : { ...step };
  if (own.type === 'register') return { ...own, name: path };
  return { ...own, steps: own.steps.map((inner, index) => named(inner, `${path}${index}`)) };
}

/** `FC_RUNS=20000` plays more trees, `FIRST_SEED` others. */
const { FIRST_SEED = '1', FC_SEED = FIRST_SEED, FC_RUNS = '1000' } = process.env;
const RUNS = Number(FC_RUNS);

test(`the callbacks that run, and their order, are those of the reference, for ${RUNS} random trees of runs`, async () => {
  const { stackTraceLimit } = Error;
  // Most runs fail, and their stacks would take most of the time.
  Error.stackTraceLimit = 0;
  let called = 0;
  try {
    await fc.assert(
      fc.asyncProperty(runs, async (tree) => {
        const root = named(tree);
        const expected = reference(root);
        expect(await new Player().play(root)).toEqual(expected);
        called += expected.length;
      }),
      { numRuns: RUNS, seed: Number(FC_SEED) },
    );
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  // The trees do something.
  expect(called).toBeGreaterThan(RUNS);
}, 600_000);
