import type { IContainer } from '@ambit/container';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { beginTransaction } from '../src/host.js';
import {
  afterCommit,
  type IConnection,
  type Propagation,
  runInTransaction,
  type RunOptions,
  transactionOf,
  type Work,
} from '../src/index.js';
import { FakePool } from '../src/testing/index.js';
import type { TinyContainer } from './support/container.js';
import { nothingIsLeft, requestScope } from './support/requests.js';

const insert =
  (what: string): Work<void> =>
  async (scope) => {
    await scope.resolve<IConnection>('IConnection').query(what);
  };
const failing =
  (what: string): Work<void> =>
  async (scope, attempt) => {
    await insert(what)(scope, attempt);
    throw new Error(`${what} failed`);
  };

describe.each([
  { container: 'a container with defer()', defers: true },
  { container: 'a foreign container', defers: false },
])('propagation in $container', ({ defers }) => {
  let pool: FakePool;
  let request: TinyContainer;

  beforeEach(() => {
    pool = new FakePool({ max: 2, acquireTimeoutMs: 20 });
    request = requestScope(pool, { defers });
  });
  afterEach(() => nothingIsLeft(pool, request));

  const run = <T>(work: Work<T>, options: RunOptions = {}): Promise<T> => runInTransaction(request, work, options);

  describe('without a transaction', () => {
    test.each(['nested', 'required', 'requires-new'] as const)('%s begins one', async (propagation) => {
      await run(insert('INSERT'), { propagation });
      await expect(run(failing('UNDONE'), { propagation })).rejects.toThrow('UNDONE failed');
      expect(pool.stored).toEqual(['INSERT']);
    });

    test('mandatory is refused', async () => {
      await expect(run(insert('INSERT'), { propagation: 'mandatory' })).rejects.toMatchObject({
        code: 'AMBIT_TX_ALREADY_OPEN',
      });
    });

    test.each(['never', 'supports', 'not-supported'] as const)(
      '%s runs without one, in the scope itself',
      async (propagation) => {
        const { signal } = new AbortController();
        const work: Work<unknown[]> = async (scope, attempt) => [scope, attempt.number, attempt.signal];
        expect(await run(work, { propagation, signal })).toEqual([request, 1, signal]);
        expect(await run(async (_scope, attempt) => attempt.signal.aborted, { propagation })).toBe(false);
        expect(pool.out).toBe(0);
      },
    );

    test.each(['REQUIRED', 'notSupported', 'constructor', 7])(
      '%j is refused, and says what there is',
      async (propagation) => {
        await expect(run(insert('INSERT'), { propagation: propagation as Propagation })).rejects.toMatchObject({
          code: 'AMBIT_OPTION',
          message: expect.stringContaining('requires-new'),
        });
      },
    );
  });

  describe('inside of a transaction', () => {
    test.each(['required', 'mandatory', 'supports'] as const)('%s joins it', async (propagation) => {
      await run(async (scope, attempt) => {
        await insert('outer')(scope, attempt);
        const joined = await runInTransaction(scope, async (inner) => inner, { propagation });
        expect(joined).toBe(scope);
        await runInTransaction(scope, insert('joined'), { propagation });
        expect(pool.out).toBe(1);
      });
      expect(pool.stored).toEqual(['outer', 'joined']);
    });

    test.each(['required', 'supports'] as const)('%s that fails marks the whole rollback-only', async (propagation) => {
      const outer = run(async (scope) => {
        await runInTransaction(scope, failing('joined'), { propagation }).catch(() => undefined);
        // No statement runs any more, and COMMIT is not sent.
        await expect(insert('more')(scope, {} as never)).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
      });
      await expect(outer).rejects.toMatchObject({
        code: 'AMBIT_TX_FAILED',
        cause: { message: 'joined failed' },
        message: expect.stringContaining('because a run that had joined the transaction failed'),
      });
      expect(pool.stored).toEqual([]);
    });

    test('required that fails inside of a nested run is undone with that', async () => {
      await run(async (scope, attempt) => {
        await insert('outer')(scope, attempt);
        const nested = runInTransaction(scope, async (inner) => {
          await runInTransaction(inner, failing('joined'), { propagation: 'required' }).catch(() => undefined);
        });
        await expect(nested).rejects.toMatchObject({ code: 'AMBIT_TX_FAILED' });
        await insert('afterwards')(scope, attempt);
      });
      expect(pool.stored).toEqual(['outer', 'afterwards']);
    });

    test.each(['isolation', 'readOnly', 'signal'] as const)('required cannot ask for another %s', async (name) => {
      const other = { isolation: 'serializable', readOnly: true, signal: new AbortController().signal } as const;
      const joined = run((scope) =>
        runInTransaction(scope, insert('joined'), { propagation: 'required', [name]: other[name] }),
      );
      await expect(joined).rejects.toMatchObject({ code: 'AMBIT_TX_NESTED' });
    });

    test('required may have retries and time limits, for where it begins the transaction itself', async () => {
      const options = { propagation: 'required', retries: 5, timeoutMs: 1000, isolation: 'serializable' } as const;
      await run((scope) => runInTransaction(scope, insert('joined'), options), { isolation: 'serializable' });
      expect(pool.stored).toEqual(['joined']);
    });

    test('requires-new commits by itself, under the scope that the outer one began in', async () => {
      request.register('IRequestId', () => 'request 7');
      const outer = run(async (scope, attempt) => {
        await insert('outer')(scope, attempt);
        scope.register('ISecret', () => 'of the outer transaction');
        const step = scope.createScope({ tags: ['step'] });
        await runInTransaction(
          step,
          async (inner, second) => {
            expect(transactionOf(inner)).not.toBe(transactionOf(scope));
            expect(inner.resolve<IConnection>('IConnection')).not.toBe(scope.resolve<IConnection>('IConnection'));
            expect(inner.resolve('IRequestId')).toBe('request 7');
            expect(() => inner.resolve('ISecret')).toThrow('ISecret');
            await insert('audit')(inner, second);
            afterCommit(inner, () => pool.stored.push('audited'));
          },
          { propagation: 'requires-new', isolation: 'serializable' },
        );
        throw new Error('out of stock');
      });
      await expect(outer).rejects.toThrow('out of stock');
      expect(pool.stored).toEqual(['audit', 'audited']);
    });

    test('requires-new that fails leaves the outer one as it is', async () => {
      await run(async (scope, attempt) => {
        await insert('outer')(scope, attempt);
        await runInTransaction(scope, failing('audit'), { propagation: 'requires-new' }).catch(() => undefined);
      });
      expect(pool.stored).toEqual(['outer']);
    });

    test('requires-new says that it waits for a connection while holding one, when the pool has no other', async () => {
      const other = await pool.getConnection();
      const outer = run((scope) =>
        runInTransaction(scope, insert('audit'), { propagation: 'requires-new', acquireTimeoutMs: 10 }),
      );
      await expect(outer).rejects.toMatchObject({
        code: 'AMBIT_TX_ACQUIRE_TIMEOUT',
        message: expect.stringContaining('while the transaction around it holds one'),
        cause: { code: 'AMBIT_TX_ACQUIRE_TIMEOUT' },
        status: 503,
      });
      other.release();
    });

    test('not-supported runs outside of it, in the scope that it began in, and leaves it open', async () => {
      await run(async (scope, attempt) => {
        await insert('outer')(scope, attempt);
        const step = scope.createScope({ tags: ['step'] });
        const outside = runInTransaction(
          step,
          async (inner, { number, signal }) => {
            expect([inner, number, signal.aborted, inner.has?.('IConnection') ?? false]).toEqual([
              request,
              1,
              false,
              false,
            ]);
            await inner.resolve<FakePool>('IDatabasePool').query('beside');
            throw new Error('only this');
          },
          { propagation: 'not-supported' },
        );
        await expect(outside).rejects.toThrow('only this');
        await insert('more')(scope, attempt);
      });
      expect(pool.stored).toEqual(['beside', 'outer', 'more']);
    });

    test.each(['the scope of the transaction', 'the scope that it began in'])(
      'afterCommit() in a not-supported run that is started in %s is called at once',
      async (where) => {
        await run(async (scope) => {
          await runInTransaction(
            where === 'the scope of the transaction' ? scope : request,
            async (inner) => {
              expect(transactionOf(inner)).toBeUndefined();
              afterCommit(inner, () => pool.stored.push('at once'));
              await runInTransaction(inner, async () => afterCommit(inner, () => pool.stored.push('with its own')));
              expect(pool.stored).toEqual(['at once', 'with its own']);
            },
            { propagation: 'not-supported' },
          );
          afterCommit(request, () => pool.stored.push('with the outer one'));
          expect(pool.stored).toHaveLength(2);
        });
        expect(pool.stored).toEqual(['at once', 'with its own', 'with the outer one']);
      },
    );

    test('not-supported that gets no second connection says what it waits for', async () => {
      const other = await pool.getConnection();
      const use = (scope: IContainer): Promise<unknown> => scope.resolve<FakePool>('IDatabasePool').query('beside');
      const work = run((scope) => runInTransaction(scope, use, { propagation: 'not-supported' }));
      await expect(work).rejects.toMatchObject({
        code: 'AMBIT_TX_ACQUIRE_TIMEOUT',
        message: expect.stringContaining('A not-supported run needs a second connection while'),
        cause: { code: 'AMBIT_TX_ACQUIRE_TIMEOUT' },
        status: 503,
      });
      other.release();
    });

    test('never is refused, and a beginTransaction() stays refused', async () => {
      await run(async (scope) => {
        const never = runInTransaction(scope, insert('never'), { propagation: 'never' });
        await expect(never).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
        await expect(beginTransaction(scope)).rejects.toMatchObject({ code: 'AMBIT_TX_ALREADY_OPEN' });
      });
    });
  });

  describe('in the scope of a completed transaction', () => {
    const scopeOfCompleted = async (): Promise<TinyContainer> => {
      const transaction = await beginTransaction(request);
      await transaction.rollback();
      return transaction.scope as TinyContainer;
    };

    test.each(['nested', 'required', 'mandatory', 'supports'] as const)('%s is refused', async (propagation) => {
      const scope = await scopeOfCompleted();
      let isCalled = false;
      const late = runInTransaction(scope, async () => (isCalled = true), { propagation });
      await expect(late).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
      expect(isCalled).toBe(false);
    });

    test('not-supported runs in the scope that it began in', async () => {
      const scope = await scopeOfCompleted();
      const seen = await runInTransaction(scope, async (inner) => inner, { propagation: 'not-supported' });
      expect(seen).toBe(request);
    });

    test('requires-new begins another one, and never runs without', async () => {
      const scope = await scopeOfCompleted();
      await runInTransaction(scope, insert('another'), { propagation: 'requires-new' });
      await expect(runInTransaction(scope, async () => 'ran', { propagation: 'never' })).resolves.toBe('ran');
      expect(pool.stored).toEqual(['another']);
    });
  });
});

/** Each run catches what the runs inside of it throw. */
type Step = { readonly type: 'callback'; readonly fails: boolean } | Run;
interface Run {
  readonly type: 'nested' | 'required';
  readonly steps: readonly Step[];
  readonly fails: boolean;
}

/** The callbacks are named by their order; those of a nested run that is refused are not registered. */
function expected(root: Run): string[] {
  const callbacks: { readonly fails: boolean; undone: boolean }[] = [];
  let isBroken = false;
  const play = ({ steps, fails }: Run): boolean => {
    for (const step of steps) {
      const from = callbacks.length;
      if (step.type === 'callback') callbacks.push({ fails: step.fails, undone: false });
      else if (step.type === 'required') isBroken = !play(step) || isBroken;
      else if (!isBroken && (!play(step) || isBroken)) {
        for (const callback of callbacks.slice(from)) callback.undone = true;
        isBroken = false;
      }
    }
    return !fails;
  };
  const isDone = play(root) && !isBroken;
  const open = callbacks.flatMap(({ undone, fails }, name) => (undone ? [] : [{ name, fails }]));
  const failed = open.findIndex(({ fails }) => fails);
  const called = !isDone ? [] : failed < 0 ? open : open.slice(0, failed + 1);
  const outcome = isDone && failed < 0 ? 'committed' : 'rolled back';
  return [
    ...called.map(({ name }) => `${name} before COMMIT`),
    ...callbacks.map(({ undone }, name) => `${name} ${undone ? 'rolled back' : outcome}`),
  ];
}

async function played(root: Run): Promise<string[]> {
  const log: string[] = [];
  let callbacks = 0;
  const pool = new FakePool();
  const play = (run: Run, around: IContainer): Promise<unknown> =>
    runInTransaction(
      around,
      async (scope) => {
        for (const step of run.steps)
          if (step.type === 'callback') register(step.fails, scope);
          else await play(step, scope);
        if (run.fails) throw new Error('the run fails');
      },
      { propagation: run.type },
    ).catch(() => undefined);
  const register = (fails: boolean, scope: IContainer): void => {
    const name = callbacks++;
    transactionOf(scope)?.beforeCommit(() => {
      log.push(`${name} before COMMIT`);
      if (fails) throw new Error('the callback fails');
    });
    transactionOf(scope)?.afterEnd((outcome) => void log.push(`${name} ${outcome}`));
  };
  await play(root, requestScope(pool));
  return [...log, ...pool.violations, ...(pool.out > 0 ? ['a connection is out'] : [])];
}

const { run: runs } = fc.letrec<{ step: Step; run: Run }>((tie) => ({
  step: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({
      type: fc.constant('callback' as const),
      fails: fc.oneof(...[false, false, false, true].map(fc.constant)),
    }),
    tie('run'),
  ),
  run: fc.record({
    type: fc.constantFrom('nested', 'required'),
    steps: fc.array(tie('step'), { maxLength: 4 }),
    fails: fc.oneof(...[false, false, true].map(fc.constant)),
  }),
}));

const { FIRST_SEED = '1', FC_SEED = FIRST_SEED, FC_RUNS = '200' } = process.env;

test('callbacks of random savepoints and required runs, some of which fail, are called as the reference says', () =>
  fc.assert(
    fc.asyncProperty(runs, async (root) => {
      expect(await played(root)).toEqual(expected(root));
    }),
    { numRuns: Number(FC_RUNS), seed: Number(FC_SEED) },
  ));
