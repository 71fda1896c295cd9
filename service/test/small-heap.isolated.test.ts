import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { postUser } from './odd-requests.js';
import { sqlite, type TestDatabase } from './support/databases.js';
import { ServiceProcess } from './support/service-process.js';

const MB = 1_048_576;
const list = (item: string): string => `[${`${item},`.repeat(MB / 4 - 1)}${item}]`;
/** A quarter of the heap's limit, of which 128 MB are for objects that have survived. */
const MOST_INCOMPLETE = 48;
const TRY_AGAIN = { error: 'Service Unavailable: try again in a moment' };
const LONG_TEXT = `{"name":"\\u0436${'x'.repeat(MB - 60)}"}`;
const TOO_DEEP = 'The body must not be nested deeper than 32 levels';
const TOO_MANY = 'The body must not have more than 10000 values';

/** The parser would make 20 to 30 MiB of each of the first four, and 2 MiB of the last. Together they are less than may be incomplete. */
const BODIES: readonly (readonly [what: string, count: number, body: string, error: string | RegExp])[] = [
  ['open lists', 30, '['.repeat(MB), TOO_DEEP],
  ['nested lists', 30, '['.repeat(MB / 2) + ']'.repeat(MB / 2), TOO_DEEP],
  ['empty lists', 30, list('[]'), TOO_MANY],
  ['empty objects', 30, list('{}'), TOO_MANY],
  ['long text', 30, LONG_TEXT, /must not have more than 200 characters$/],
];

describe('with a heap of 128 MB', () => {
  let service: ServiceProcess;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await sqlite.open();
    service = new ServiceProcess(database.env, { execArgv: ['--max-old-space-size=128'] });
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  });

  test.each(BODIES)('%s as bodies of 1 MiB, %i at once, are refused', async (_what, count, body, error) => {
    const clients = await Promise.all(Array.from({ length: count }, () => service.client()));
    // All but the last byte, so that the bodies become complete in one turn of the event loop.
    const bytes = postUser(body);
    for (const client of clients) client.write(bytes.subarray(0, -1));
    await Promise.all(clients.map((client) => client.sent()));
    for (const client of clients) client.write(bytes.subarray(-1));
    for (const client of clients) {
      const { status, text } = await client.response();
      expect(status).toBe(400);
      expect(JSON.parse(text)).toEqual({ error: expect.stringMatching(error) });
      client.leave();
    }
    expect(await isReady()).toBe(true);
  });

  test.each([1, 2])('%i bodies of 1 MiB in chunks of one byte are read like any other', async (count) => {
    const head =
      'POST /api/users HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    const pieces = (text: string): string => text.replaceAll(/./gs, (byte) => `1\r\n${byte}\r\n`);
    const long = `${head}${pieces('"')}${'1\r\nx\r\n'.repeat(MB - 2)}${pieces('"')}0\r\n\r\n`;
    const clients = await Promise.all(Array.from({ length: count }, () => service.client()));
    for (const client of clients) client.write(long);
    for (const client of clients) {
      const { status, text } = await client.response(60_000);
      expect([status, JSON.parse(text)]).toEqual([400, { error: 'body must be object' }]);
      client.write(`${head}${pieces('{"name":"Ada","email":"ada@example.org"}')}0\r\n\r\n`);
      expect((await client.response()).status).toBe(201);
      client.leave();
    }
    expect(await isReady()).toBe(true);
  });

  test('of 100 uploads of 1 MiB that stall, so many are refused that the others fit, and small ones are not', async () => {
    const statuses: number[] = [];
    const uploads = await Promise.all(Array.from({ length: 100 }, () => service.client()));
    const bytes = postUser('['.repeat(MB));
    const responses = uploads.map(async (client) => {
      client.write(bytes.subarray(0, -1));
      const { status, headers, text } = await client.response();
      statuses.push(status);
      if (status === 503) expect([headers['retry-after'], JSON.parse(text)]).toEqual(['1', TRY_AGAIN]);
    });
    await expect.poll(() => statuses.length).toBeGreaterThanOrEqual(100 - MOST_INCOMPLETE);
    const client = await service.client();
    client.write(postUser('{"name":"Ada","email":"ada@example.org"}'));
    expect((await client.response()).status).toBe(201);
    client.leave();
    expect(new Set(statuses)).toEqual(new Set([503]));
    // More bodies of 1 KiB than the large ones have left.
    const small = await Promise.all(Array.from({ length: 1200 }, () => service.client()));
    const user = postUser('{"name":"Ada","email":"ada@example.org"}');
    for (const each of small) each.write(user.subarray(0, -1));
    await Promise.all(small.map((each) => each.sent()));
    for (const each of small) each.write(user.subarray(-1));
    const ends = await Promise.all(small.map((each) => each.response()));
    expect(new Set(ends.map(({ status }) => status))).toEqual(new Set([201]));
    for (const each of small) each.leave();
    for (const upload of uploads) upload.write(bytes.subarray(-1));
    await Promise.all(responses);
    // The others are complete now, and are what the parser would not like.
    expect(statuses.filter((status) => status === 400).length).toBeGreaterThanOrEqual(28);
    for (const upload of uploads) upload.leave();
  });

  async function isReady(): Promise<boolean> {
    const client = await service.client();
    const { status } = await client.request({ path: '/health/ready' });
    client.leave();
    return status === 200;
  }
});
