import { describe, expect, it } from 'vitest';
import { hasTerm, readFilter, withoutTerm, withTerm } from '../../page/filter/filter.js';
import type { RequestSummary } from '../../src/wire.js';
import { summary } from '../support/requests.js';

const facts = {
  boot: '1f0c2a9b',
  slowMs: 100,
  names: ['INSERT INTO orders VALUES ($1)', 'IOrderRepository'],
  isPinned: (id: number) => id === 3,
};
const users = summary({ id: 1, requestId: 'req-42' });
const orders = summary({
  id: 2,
  method: 'POST',
  route: '/api/orders',
  status: 409,
  outcome: 'rolled back',
  milliseconds: 1500,
  statements: 21,
  alike: 5,
  waited: 30,
  texts: [0],
  keys: [1],
  trouble: true,
});
const failed = summary({ id: 3, status: 500, failures: 1, trouble: true });
const { status: _, milliseconds: __, ...going } = summary();
const open = { ...going, id: 4, state: 'open' as const };
const aborted = { ...going, id: 5, state: 'aborted' as const, leaks: 1, findings: 2, trouble: true };
const all: RequestSummary[] = [users, orders, failed, open, aborted];

const found = (text: string): number[] => {
  const { matches } = readFilter(text);
  return all.filter((request) => matches(request, facts)).map(({ id }) => id);
};

describe('the filter of requests', () => {
  it.for<[string, number[]]>([
    ['', [1, 2, 3, 4, 5]],
    ['post', [2]],
    ['POST orders', [2]],
    ['req-42', [1]],
    ['1f0c2a9b-4', [4]],
    ['0badcafe-4', []],
    ['leak', [5]],
    ['status:500', [3]],
    ['status:>=400', [2, 3]],
    ['status:4xx', [2]],
    ['status:<400', [1]],
    ['duration:>100', [2]],
    ['duration:>1.4s', [2]],
    ['duration:<=5ms', [1, 3]],
    ['route:/api/orders', [2]],
    ['method:post', [2]],
    ['method:pos', []],
    ['service:iorderrepository', [2]],
    ['statement:insert', [2]],
    ['statement:"into orders"', [2]],
    ['outcome:"rolled back"', [2]],
    ['statements:>20', [2]],
    ['waited:>0', [2]],
    ['is:slow', [2]],
    ['is:failed', [3]],
    ['is:open', [4]],
    ['is:aborted', [5]],
    ['is:leak', [5]],
    ['is:check', [5]],
    ['is:n+1', [2]],
    ['is:waited', [2]],
    ['is:pinned', [3]],
    ['is:trouble', [2, 3, 5]],
    ['-is:trouble', [1, 4]],
    ['-get', [2]],
    ['-"rolled back" is:trouble', [3, 5]],
    ['is:open or status:500', [3, 4]],
    ['is:trouble -is:aborted or is:open', [2, 3, 4]],
    ['IS:Open', [4]],
  ])('%s', ([text, ids]) => {
    expect([found(text), readFilter(text).problem]).toEqual([ids, undefined]);
  });

  it.for(['status:', 'status:>', '-', 'is: -is:', '""', 'or', 'post or', '"rolled'])(
    'is quiet about %s, which somebody is typing',
    (text) => {
      expect(readFilter(text).problem).toBeUndefined();
    },
  );

  it.for([
    ['stauts:500', 'There is no “stauts:”. There are is, status,'],
    ['is:broken', 'There is no “is:broken”. There are trouble, failed,'],
    ['is:constructor', 'There is no “is:constructor”'],
    ['constructor:1', 'There is no “constructor:”'],
    ['status:abc', '“abc” is not a number. Write status:500, status:4xx or status:>=400.'],
    ['duration:>fast', '“>fast” is not a number. Write duration:>100, or duration:>1s.'],
  ])('says what is wrong with %s, and leaves it out', ([text = '', problem]) => {
    expect(readFilter(`${text} post`).problem).toContain(problem);
    expect(found(`${text} post`)).toEqual([2]);
  });

  it('takes a quoted text with a colon for a word', () => {
    expect(readFilter('"req:abc"').problem).toBeUndefined();
    expect(found('"/api/users/:id"')).toEqual([1, 3, 4, 5]);
  });

  it('adds a term and takes it out again', () => {
    expect(withTerm('post', 'is:trouble')).toBe('is:trouble post');
    expect([hasTerm('is:trouble post', 'is:trouble'), hasTerm('-is:trouble', 'is:trouble')]).toEqual([true, false]);
    expect(withoutTerm('post is:trouble 500', 'is:trouble')).toBe('post 500');
  });
});
