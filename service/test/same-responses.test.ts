import { type Exchange, RawClient } from '@ambit/test-kit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ADDRESSES, BODIES, HEADERS, MEDIA_TYPES, type OddRequest, PROTOCOL } from './odd-requests.js';
import { App } from './support/app.js';

const TABLES: readonly (readonly [about: string, table: readonly OddRequest[]])[] = [
  ['the media type is', MEDIA_TYPES],
  ['the body contains', BODIES],
  ['the request goes to', ADDRESSES],
  ['the query or the headers contain', HEADERS],
  ['the request is barely HTTP:', PROTOCOL],
];

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/g;

/** The response without the values that differ with each request. */
function comparable({ headers, text, ...rest }: Exchange): object {
  const { date, 'x-request-id': requestId = '', ...others } = headers;
  return {
    ...rest,
    // The text is compared, without what differs.
    body: undefined,
    bytes: undefined,
    hasDate: date !== undefined,
    requestId: requestId.replace(UUID, 'a UUID'),
    headers: others,
    text: text.replaceAll(UUID, 'a UUID').replaceAll(TIME, 'a time'),
  };
}

describe('Express and Fastify send the same response when', () => {
  const hosts = {} as { express: App; fastify: App };
  const each = (act: (app: App) => Promise<void>): Promise<void[]> => Promise.all(Object.values(hosts).map(act));
  beforeAll(async () => {
    hosts.express = await App.start('express', { DATA_DIR: ':memory:' });
    hosts.fastify = await App.start('fastify', { DATA_DIR: ':memory:' });
  });
  afterEach(() => each((app) => app.quiet()));
  afterAll(() => each((app) => app.stop()));

  describe.each(TABLES)('%s', (_about, table) => {
    test.each(table)('%s', async (_what, bytes, status) => {
      const [heard, other] = await Promise.all([hosts.express.exchange(bytes), hosts.fastify.exchange(bytes)]);
      expect(comparable(heard)).toEqual(comparable(other));
      expect(heard.status).toBe(status);
      expect(heard.headers['x-request-id']).toMatch(UUID);
      await hosts.express.log.finds({ status, requestId: heard.headers['x-request-id'] });
      await hosts.fastify.log.finds({ status, requestId: other.headers['x-request-id'] });
      expect(heard.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(heard.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      if (status < 400 || heard.text === '') return;
      expect(JSON.parse(heard.text)).toEqual({ error: expect.any(String) });
    });
  });

  test('a client requests a tunnel: none', async () => {
    for (const { url } of [hosts.express, hosts.fastify]) {
      const client = await RawClient.connect(Number(new URL(url).port));
      client.write('CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n');
      await client.closed();
      expect(client.received).toBe(0);
    }
  });
});
