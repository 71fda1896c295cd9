import { expect } from 'vitest';
import type { RawResponse } from '../tools.js';

const OF_ONE_RESPONSE = {
  'accept-ranges': 'bytes',
  'cache-control': 'public, max-age=3600',
  'content-digest': 'sha-256=:AAAA:',
  'content-disposition': 'attachment; filename="order.json"',
  'content-encoding': 'identity',
  'content-language': 'en',
  'content-location': '/orders/1.json',
  'content-range': 'items 0-1/2',
  'content-md5': 'AAAA',
  digest: 'sha-256=AAAA',
  etag: '"1"',
  expires: 'Thu, 01 Jan 2099 00:00:00 GMT',
  'last-modified': 'Thu, 01 Jan 2015 00:00:00 GMT',
  location: '/orders/1',
  'repr-digest': 'sha-256=:AAAA:',
};

const OF_EVERY_RESPONSE = {
  'content-security-policy': "default-src 'none'",
  vary: 'origin',
  'x-request-id': '7',
};

/** @internal What a handler says of its response, and what its application says of all of them. */
export const MANY_HEADERS = { ...OF_ONE_RESPONSE, ...OF_EVERY_RESPONSE };

/** @internal The first response's headers are removed; Express adds an `etag` for the error. */
export function expectTakenBack({ headers }: RawResponse): void {
  expect(Object.entries(OF_ONE_RESPONSE).filter(([name, value]) => headers[name] === value)).toEqual([]);
  expect(Object.keys(OF_ONE_RESPONSE).filter((name) => name !== 'etag' && name in headers)).toEqual([]);
  expect(headers).toMatchObject({
    ...OF_EVERY_RESPONSE,
    'content-type': expect.stringMatching(/^application\/problem\+json/),
  });
}
