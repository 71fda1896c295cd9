import { expect, it } from 'vitest';
import { formatAddress, parseAddress, requests, take, troubles } from '../page/data.js';
import { foldSteps, timeParts } from '../page/request.js';
import { matches } from '../page/requests.js';
import { listLine, marksOf, poolLine, transactionsLine } from '../page/words.js';
import { details, message, statement, summary } from './support/requests.js';

it('the page has what the server keeps: the newest without trouble, and the newest with trouble', () => {
  for (let id = 1; id <= 5; id++) take(message([summary({ id, trouble: id % 2 === 1 })]));
  take(message([6, 7, 8].map((id) => summary({ id }))));
  expect([...requests.value.keys()].toSorted((one, other) => one - other)).toEqual([3, 5, 6, 7, 8]);
});

it('the page begins again with each recording', () => {
  take(message([summary()], { troubles: [{ id: 'a', kind: 'slow' }] as never }));
  take(message([], { boot: 'two', troubles: [] }));
  expect([requests.value.size, troubles.value]).toEqual([0, []]);
});

it('an address names a view, an item, a filter and a trouble', () => {
  const address = { view: 'requests', item: 'b-1', q: 'a b', at: 'x' };
  expect(parseAddress(formatAddress(address))).toEqual(address);
  expect(parseAddress('')).toEqual({ view: 'now' });
});

it('the time of a request is divided without counting anything twice, calls included', () => {
  const request = details({
    milliseconds: 100,
    steps: [
      statement('SELECT 1', { at: 10, took: 30 }),
      statement('SELECT 2', { at: 20, took: 30 }),
      { kind: 'call', at: 40, took: 40, host: 'bank.example' },
      statement('SELECT 3', { at: 95, took: 50 }),
    ],
  });
  const parts = timeParts(request).filter(({ milliseconds }) => milliseconds > 0);
  expect(parts.map(({ name, milliseconds }) => [name, milliseconds])).toEqual([
    ['statements', 45],
    ['calls to other servers', 30],
    ['not accounted for', 25],
  ]);
  expect(timeParts({ ...request, dropped: 1 })).toEqual([]);
});

it('equal statements, and equal calls, that follow one another are one row', () => {
  const call = { kind: 'call', at: 0, host: 'a' } as const;
  const steps = [
    ...Array.from({ length: 6 }, () => statement('SELECT 1')),
    call,
    call,
    call,
    call,
    call,
    statement('SELECT 2'),
  ];
  expect(foldSteps(steps).map((fold) => fold.length)).toEqual([6, 5, 1]);
  expect(foldSteps(steps.slice(4)).map((fold) => fold.length)).toEqual([1, 1, 5, 1]);
});

it('a filter finds requests with all its words, of route, status, marks and id', () => {
  const request = summary({
    id: 7,
    trouble: true,
    status: 409,
    outcome: 'rolled back',
    troubles: ['leak'],
    requestId: 'Q1',
  });
  for (const filter of ['', 'trouble', 'users 409', '"get /api/users/:id"', 'leak', '"rolled back"', 'b-7', 'q1'])
    expect([filter, matches(request, filter, 'b-7')]).toEqual([filter, true]);
  for (const filter of ['users 200', '"users get"', 'b-8']) expect(matches(request, filter, 'b-7')).toBe(false);
});

it('a rollback with a response of 4xx is no bad news', () => {
  const moodOf = (status: number) =>
    marksOf(summary({ status, outcome: 'rolled back' })).find(({ text }) => text === 'rolled back')?.mood;
  expect([moodOf(409), moodOf(200), moodOf(500)]).toEqual(['', 'bad', 'bad']);
});

it('sentences do not contradict themselves', () => {
  expect(poolLine({ open: 3, idle: 1, waiting: 2, max: 4 })).toBe('2 in use of 4, 2 callers waiting.');
  const outcomes = { open: 1, committed: 2, 'rolled back': 1, unknown: 1, refused: 1 };
  expect(transactionsLine(outcomes)).toBe(
    '1 open, 2 committed, 1 rolled back, 1 with an unknown outcome; 1 did not begin, without a connection',
  );
  expect([listLine(5, 100), listLine(1, 1)]).toEqual(['5 shown of 100', '1 request']);
});
