import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContainerError, Registration, type Binding } from '../src/index.js';
import { graph, toMermaid, verify } from '../src/tools.js';
import { request } from './support/asking.js';
import { randomRegistrations } from './support/random-app.js';
import { openApplication, openRequest, openTransaction } from './support/scopes.js';

const { FIRST_SEED = '1', FC_SEED = FIRST_SEED, FC_RUNS = '1000' } = process.env;
const value = Registration.fromValue(1).to('Value');

const thrownBy = (work: () => unknown): ContainerError | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ContainerError) return error;
    throw error;
  }
};

/** The same for two errors of one cause: where a cycle begins does not matter. */
const essence = ({ code, key, path }: ContainerError): string =>
  [
    code,
    ...(code === 'AMBIT_CYCLE'
      ? path
          .slice(path.indexOf(key ?? '') + 1)
          .map(String)
          .toSorted()
      : [key]),
  ].join(' ');

// A lazy to a transient that has a lazy to the first one would go on forever.
const MOST_SEEN = 300;

/** What resolve refuses, and what is refused when the lazy functions that it handed out are called, and those that these hand out. */
function refusalsOf(resolve: () => unknown): { atOnce: ContainerError[]; later: ContainerError[] } {
  const atOnce: ContainerError[] = [];
  const later: ContainerError[] = [];
  const seen = new Set<unknown>();
  const open = [resolve];
  const look = (made: unknown): void => {
    if (seen.has(made)) return;
    seen.add(made);
    if (typeof made === 'function') open.push(made as () => unknown);
    if (Array.isArray(made)) for (const one of made) look(one);
    if (typeof made === 'object' && made !== null && 'got' in made) look(made.got);
  };
  for (const call of open) {
    if (seen.size > MOST_SEEN) break;
    const error = thrownBy(() => look(call()));
    if (error) (call === resolve ? atOnce : later).push(error);
  }
  return { atOnce, later };
}

/** What verify finds, and what a transaction, which sees every registration, cannot resolve. */
function judge(registrations: readonly Binding[]) {
  const problems = thrownBy(() => verify(openApplication(value, ...registrations), request))?.problems ?? [];
  const transaction = openTransaction(openRequest(openApplication(value, ...registrations)));
  transaction.register('ISession', () => 'open');
  const refusals = new Map(registrations.map(({ key }) => [key, refusalsOf(() => transaction.resolve(key as string))]));
  return { problems, refusals };
}

/** A singleton whose optional dependency has a shorter lifetime gets `undefined`: verify alone reports that. */
const isOptional = (registrations: readonly Binding[], { path }: ContainerError): boolean =>
  registrations.some(
    ({ key, needs }) =>
      key === path.at(-2) &&
      needs?.some((need) => typeof need === 'object' && need.kind === 'optional' && need.key === path.at(-1)),
  );

describe('verify and resolve agree', () => {
  it('on every graph: what passes resolves, every lazy can be called, what is refused fails with the same code', () => {
    fc.assert(
      fc.property(randomRegistrations, (registrations) => {
        const { problems, refusals } = judge(registrations);
        const found = problems.map(essence);
        const missing = problems.filter(({ code }) => code !== 'AMBIT_CYCLE').map(({ key }) => key);
        const isRefused = (key: unknown) => {
          const { atOnce, later } = refusals.get(key as string) ?? { atOnce: [], later: [] };
          return atOnce.length + later.length > 0;
        };

        for (const { atOnce, later } of refusals.values()) {
          for (const error of atOnce) expect(found).toContain(essence(error));
          // Called later, a lazy cannot know which singleton holds the service that holds it: the code may be another one.
          for (const error of later)
            if (error.code === 'AMBIT_CYCLE') expect(found).toContain(essence(error));
            else expect(missing).toContain(error.key);
        }
        for (const problem of problems)
          if (!isOptional(registrations, problem)) expect(problem.path[0]).toSatisfy(isRefused);
      }),
      { numRuns: Number(FC_RUNS), seed: Number(FC_SEED) },
    );
  });
});

describe('the graph', () => {
  it('of anything can be drawn, and every arrow begins and ends somewhere', () => {
    fc.assert(
      fc.property(randomRegistrations, (registrations) => {
        const drawn = graph(openApplication(...registrations), request);
        const ids = drawn.nodes.map(({ id }) => id);

        expect(new Set(ids).size).toBe(ids.length);
        for (const { from, to } of drawn.edges) expect(ids).toEqual(expect.arrayContaining([from, to]));
        expect(toMermaid(drawn)).toMatch(/^flowchart /);
      }),
      { numRuns: 200, seed: Number(FC_SEED) },
    );
  });
});
