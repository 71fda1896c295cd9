import { expect, it } from 'vitest';
import { formatAddress, parseAddress, requests, take, troubles } from '../page/data.js';
import { foldSteps } from '../page/request.js';
import { matches } from '../page/requests.js';
import { message, statement, summary } from './support/requests.js';

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

it('equal statements, and equal calls, that follow one another are one row', () => {
  const call = { kind: 'call', at: 0, host: 'a' } as const;
  const steps = [
    ...Array.from({ length: 6 }, () => statement('SELECT 1')),
    call,
    ...Array.from({ length: 4 }, () => call),
  ];
  expect(foldSteps([...steps, statement('SELECT 2')]).map((fold) => fold.length)).toEqual([6, 5, 1]);
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
