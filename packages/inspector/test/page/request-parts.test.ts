import { describe, expect, it } from 'vitest';
import {
  foldSteps,
  marksOf,
  matches,
  phrase,
  statementGroups,
  stepOf,
  timeParts,
} from '../../page/requests/request-data.js';
import type { RequestSummary, Step, StepKind } from '../../src/wire.js';
import { details, statement, summary } from '../support/requests.js';

const times = <T>(number: number, make: (i: number) => T): T[] => Array.from({ length: number }, (_, i) => make(i));

describe('the statements of a request', () => {
  it('are grouped by their text, the group that took most time first', () => {
    const steps = [statement('A', { took: 2 }), statement('B', { took: 3 }), statement('A', { took: 2 })];
    expect(statementGroups(details({ steps }))).toMatchObject([
      { sql: 'A', totalMs: 4, steps: [steps[0], steps[2]] },
      { sql: 'B', totalMs: 3 },
    ]);
  });

  const marksOfGroups = (steps: readonly Step[], milliseconds = 100): string[][] =>
    statementGroups(details({ milliseconds, steps })).map(({ marks }) => marks.map(({ text }) => text));

  it('are N+1 from five alike on', () => {
    const steps = [...times(5, () => statement('A')), ...times(4, () => statement('B'))];
    expect(marksOfGroups(steps)).toEqual([['N+1'], []]);
  });

  it('are slow where one takes a fifth of the request and more than noise', () => {
    const slow = (took: number, milliseconds: number): unknown =>
      marksOfGroups([statement('A', { took })], milliseconds)[0];
    expect([slow(20, 100), slow(19, 100), slow(4, 4), slow(5, 4)]).toEqual([['slow'], [], [], ['slow']]);
  });

  it('are marked where they failed, and outside of transactions', () => {
    const steps = [statement('A', { outside: true }), statement('A', { error: 'PostgresError 23505' }), statement('A')];
    expect(marksOfGroups(steps)).toEqual([['failed', 'outside']]);
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

describe('the marks of a request', () => {
  it('are red for trouble, not for what the application has decided', () => {
    const mood = (given: Partial<RequestSummary>) => marksOf(summary(given), 1000)[0]?.mood;
    expect(mood({ outcome: 'rolled back', status: 409 })).toBe('');
    expect(mood({ outcome: 'rolled back', status: 500 })).toBe('bad');
    expect(mood({ outcome: 'rolled back', status: 200 })).toBe('bad');
    expect(mood({ outcome: 'committed', failedAttempts: 2 })).toBe('good');
  });
});

describe('the step of a trouble', () => {
  const where = 'src/orders.ts:7:3';
  const other: Step = { kind: 'statement', at: 0, took: 900, sql: 'SELECT 1', where: 'src/users.ts:1:1' };
  const stepAt = (step: Step, cause: Partial<Parameters<typeof stepOf>[0]>): Step | undefined =>
    stepOf(
      { kind: 'slow', ...cause },
      details({ steps: [other, step], spans: [{ box: 'a > job', opened: 0, where: [`leak (${where})`] }] }),
    );

  it.for<[string, Step, Partial<Parameters<typeof stepOf>[0]>]>([
    [
      'the one with its error',
      { kind: 'rollback', at: 1, error: 'PostgresError 23503' },
      { error: 'PostgresError 23503', where },
    ],
    ['the one at its line', { kind: 'call', at: 1, where }, { where }],
    [
      'the one that waited for its line',
      { kind: 'connection', at: 1, heldBy: { name: 'GET /', where, milliseconds: 1, ended: true } },
      { where },
    ],
    ['the scope that its line opened', { kind: 'scope opened', at: 1, span: 0 }, { kind: 'leak', where }],
    [
      'the disconnecting client of an aborted request',
      { kind: 'aborted', at: 1 },
      { kind: 'aborted', where: 'src/users.ts:1:1' },
    ],
    ['the longest where nothing else is known', { kind: 'call', at: 1, took: 1000 }, {}],
  ])('is %s', ([, step, cause]) => {
    expect(stepAt(step, cause)).toBe(step);
  });
});

describe('the filter', () => {
  const names = ['SELECT "name" FROM "users" WHERE id = $1', 'IUsers'];
  const request = summary({ method: 'POST', route: '/orders', status: 503, outcome: 'refused', texts: [0], keys: [1] });
  const fits = (filter: string): boolean => matches(request, filter, names, 'boot-1');

  it.for(['', ' ', 'post', 'post 503', 'no connection', 'iusers', phrase(names[0] ?? ''), 'boot-1', '"post /orders"'])(
    'finds a request by %s',
    (filter) => expect(fits(filter)).toBe(true),
  );

  it.for(['get', 'post 200', '"orders post"', 'committed'])('does not find it by %s', (filter) =>
    expect(fits(filter)).toBe(false),
  );

  it('knows no path of a request without a route', () => {
    expect(matches(summary({ route: '(no route)', status: 404 }), '"get no route" 404', [], '')).toBe(true);
  });
});
