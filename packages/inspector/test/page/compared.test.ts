import { describe, expect, it } from 'vitest';
import { compareRequests } from '../../page/requests/request-data.js';
import { details, statement } from '../support/requests.js';

describe('two requests that are compared', () => {
  const one = details({
    milliseconds: 10,
    steps: [
      statement('A'),
      statement('B', { took: 2 }),
      { kind: 'created', at: 0, key: 'IUsers' },
      { kind: 'disposed', at: 9, key: 'IUsers' },
    ],
  });
  const other = details({
    milliseconds: 30,
    steps: [statement('A'), statement('B', { took: 9 }), statement('B', { took: 9 }), statement('C', { took: 3 })],
  });

  it('have durations side by side', () => {
    expect(compareRequests(one, other).durations[0]).toEqual({ name: 'duration', one: 10, other: 30 });
  });

  it('have statements by their text, what differs most first', () => {
    expect(
      compareRequests(one, other).statements.map(({ sql, count, milliseconds }) => [
        sql,
        count.one,
        count.other,
        milliseconds.one,
        milliseconds.other,
      ]),
    ).toEqual([
      ['B', 1, 2, 2, 18],
      ['C', undefined, 1, undefined, 3],
      ['A', 1, 1, 1, 1],
    ]);
  });

  it('have services, also those that only one of them created', () => {
    expect(compareRequests(one, other).services).toEqual([{ name: 'IUsers', one: 1, other: undefined }]);
  });
});
