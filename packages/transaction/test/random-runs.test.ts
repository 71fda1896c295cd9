import type { IContainer } from '@ambit/container';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { runInTransaction, transactionOf } from '../src/index.js';
import { FakePool } from '../src/testing/index.js';
import { requestScope } from './support/requests.js';

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
