import { describe, expect, it } from 'vitest';
import { foldSteps, statementGroups, timeParts } from '../../page/requests/request-data.js';
import type { StepKind } from '../../src/wire.js';
import { details, statement } from '../support/requests.js';

const times = <T>(number: number, make: (i: number) => T): T[] => Array.from({ length: number }, (_, i) => make(i));

describe('the statements of a request', () => {
  it('are grouped by their text, the group that took most time first', () => {
    const steps = [statement('A', { took: 2 }), statement('B', { took: 3 }), statement('A', { took: 2 })];
    expect(statementGroups(details({ steps }))).toMatchObject([
      { sql: 'A', totalMs: 4, longestMs: 2, steps: [steps[0], steps[2]] },
      { sql: 'B', totalMs: 3 },
    ]);
  });

  it('are N+1 from five alike on', () => {
    const steps = [...times(5, () => statement('A')), ...times(4, () => statement('B'))];
    expect(statementGroups(details({ steps })).map(({ repeated }) => repeated)).toEqual([true, false]);
  });

  it('are slow where one takes a fifth of the request and more than noise', () => {
    const slow = (took: number, milliseconds: number): unknown =>
      statementGroups(details({ milliseconds, steps: [statement('A', { took })] }))[0]?.slow;
    expect([slow(20, 100), slow(19, 100), slow(4, 4), slow(5, 4)]).toEqual([true, false, false, true]);
  });

  it('are counted where they failed, and outside of transactions', () => {
    const steps = [statement('A', { outside: true }), statement('A', { error: 'PostgresError 23505' }), statement('A')];
    expect(statementGroups(details({ steps }))).toMatchObject([{ outside: 1, failed: 1 }]);
  });
});

describe('the steps of a waterfall', () => {
  it('are one row for five and more statements that are alike and follow one another', () => {
    const steps = [
      statement('A'),
      ...times(5, () => statement('B')),
      statement('A'),
      ...times(4, () => statement('C')),
    ];
    expect(foldSteps(steps).map((fold) => fold.length)).toEqual([1, 5, 1, 1, 1, 1, 1]);
  });

  it('are not one row across scopes', () => {
    const steps = [...times(3, () => statement('A', { span: 0 })), ...times(3, () => statement('A', { span: 1 }))];
    expect(foldSteps(steps)).toHaveLength(6);
  });
});

describe('the time of a request', () => {
  const step = (kind: StepKind, at: number, took: number) => ({ kind, at, took });

  it('is what waiting, statements, transactions and creations took, and what nothing accounts for', () => {
    const steps = [
      step('created', 0, 1),
      step('connection', 1, 4),
      step('begin', 5, 1),
      step('statement', 6, 10),
      step('commit', 16, 2),
    ];
    const parts = timeParts(details({ milliseconds: 20, steps }));
    expect(parts.map(({ kind, milliseconds }) => [kind, milliseconds])).toEqual([
      ['waiting', 4],
      ['statements', 10],
      ['transactions', 3],
      ['creations', 1],
      ['rest', 2],
    ]);
  });

  it('counts what happens at once only once, and nothing after the response', () => {
    const steps = [step('statement', 2, 6), step('statement', 4, 6), step('statement', 18, 10)];
    const parts = timeParts(details({ milliseconds: 20, steps }));
    expect(parts.find(({ kind }) => kind === 'statements')?.milliseconds).toBe(10);
    expect(parts.find(({ kind }) => kind === 'rest')?.milliseconds).toBe(10);
  });

  it('is not divided where steps are missing', () => {
    expect(timeParts(details({ milliseconds: 20, dropped: 1 }))).toEqual([]);
  });
});
