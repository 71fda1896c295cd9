import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ContainerError, Registration, type Binding } from '../src/index.js';
import { graph, toMermaid, verify } from '../src/tools.js';
import { request } from './support/asking.js';
import { randomRegistrations } from './support/random-app.js';
import { openApplication, openRequest, openTransaction } from './support/scopes.js';

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

/** The same for two errors of one cause: where a circle begins does not matter. */
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

/** What verify finds, and what a transaction, which sees every registration, cannot resolve. */
function judge(registrations: readonly Binding[]) {
  const problems = thrownBy(() => verify(openApplication(value, ...registrations), request))?.problems ?? [];
  const transaction = openTransaction(openRequest(openApplication(value, ...registrations)));
  transaction.register('IConnection', () => 'open');
  const refused = new Map<unknown, ContainerError>();
  for (const { key } of registrations) {
    const error = thrownBy(() => transaction.resolve(key as string));
    if (error) refused.set(key, error);
  }
  return { problems, refused };
}

describe('verify and resolve agree', () => {
  it('on every graph of classes: what passes resolves, what is refused fails with the same code', () => {
    fc.assert(
      fc.property(randomRegistrations, (registrations) => {
        const { problems, refused } = judge(registrations);
        const found = problems.map(essence);

        for (const error of refused.values()) expect(found).toContain(essence(error));
        for (const { path } of problems) expect([...refused.keys()]).toContain(path[0]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('on graphs of which some pass and some do not, so that neither half is empty', () => {
    const verdicts = fc
      .sample(randomRegistrations, { numRuns: 300, seed: 1 })
      .map((registrations) => judge(registrations));
    const codes = new Set(verdicts.flatMap(({ problems }) => problems.map(({ code }) => code)));

    expect(verdicts.filter(({ problems }) => problems.length === 0).length).toBeGreaterThan(30);
    expect([...codes].toSorted()).toEqual(['AMBIT_CYCLE', 'AMBIT_NOT_REGISTERED', 'AMBIT_SHORTER_LIFE']);
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
      { numRuns: 200 },
    );
  });
});
