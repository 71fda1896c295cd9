import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { connectionLost } from '@ambit/test-kit';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { onBothHosts, onOneStage, type Stage } from './support/stage.js';

const PAGE = 500;
/** With names of this length, so many users are more than sockets buffer. */
const LONG = 5000;
const MANY = 6000;

/** Rows of one INSERT. */
const BATCH = 100;

async function fillUsers(stage: Stage, count: number, nameLength = 1): Promise<void> {
  for (let n = 1; n <= count; n += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count + 1 - n) }, (_, index) => n + index);
    const rows = numbers.map((__, index) => `($${3 * index + 1}, $${3 * index + 2}, $${3 * index + 3})`);
    const values = numbers.flatMap((number) => [
      `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`,
      `"Zoë" \\ ${'x'.repeat(nameLength)}${number}`,
      'x@example.org',
    ]);
    await stage.rows(`INSERT INTO users (id, name, email) VALUES ${rows.join(', ')}`, values);
  }
}

/** The head of a response whose body is not read, except what Node buffers. */
async function beginToRead(stage: Stage, path = '/api/users'): Promise<IncomingMessage> {
  const [response] = (await once(get(stage.app.url + path, { agent: false }), 'response')) as [IncomingMessage];
  return response;
}

onOneStage((stage) => {
  const fill = (count: number, nameLength?: number) => fillUsers(stage, count, nameLength);
  const expected = async (): Promise<object[]> => stage.rows('SELECT id, name, email FROM users ORDER BY id');
  const counts = (): unknown[] => stage.app.log.audits.map(({ action, count }) => [action, count]);
  const begin = (path?: string) => beginToRead(stage, path);
  /** How many rows each statement returned, and in which turn of the event loop it began. */
  const spyOnReads = (): { rows: number; turn: number }[] => {
    const reads: { rows: number; turn: number }[] = [];
    const query = stage.app.pool.query.bind(stage.app.pool);
    let turn = 0;
    vi.spyOn(stage.app.pool, 'query').mockImplementation(async (sql, params) => {
      const began = turn;
      setImmediate(() => turn++);
      const rows = await query(sql, params);
      reads.push({ rows: rows.length, turn: began });
      return rows;
    });
    return reads;
  };
  afterEach(() => vi.restoreAllMocks());

  test.each([PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])(
    'a list of %d users has the same text as its array, and is counted',
    async (n) => {
      await fill(n);
      const users = await expected();
      const response = await begin();
      expect(response.statusCode).toBe(200);
      expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(await text(response)).toBe(JSON.stringify(users));
      const after = await begin(`/api/users?after=${(users[0] as { id: string }).id}`);
      expect(await text(after)).toBe(JSON.stringify(users.slice(1)));
      expect(counts()).toEqual([
        ['users_listed', n],
        ['users_listed', n - 1],
      ]);
    },
  );

  test('a long list is read a page at a time, with other work in between, and audited before its end', async () => {
    await fill(1300);
    const reads = spyOnReads();
    const response = await begin();
    response.on('end', () => expect(counts()).toEqual([['users_listed', 1300]]));
    await text(response);
    expect(reads.map(({ rows }) => rows)).toEqual([PAGE, PAGE, 300]);
    expect(new Set(reads.map(({ turn }) => turn)).size).toBe(3);
  });

  test('for HEAD a long list is counted, and not sent', async () => {
    await fill(700);
    const client = await stage.app.client();
    client.send({ method: 'HEAD', path: '/api/users' }, { path: '/health/live' });
    const { status, headers } = await client.response();
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
    expect(headers['content-length']).toBeUndefined();
    expect((await client.response()).status).toBe(200);
    expect(counts()).toEqual([['users_listed', 700]]);
    client.reset();
  });

  describe('for a client that stops reading', () => {
    test('the service reads no more than the client receives, and holds no connection', async () => {
      await fill(MANY, LONG);
      const reads = spyOnReads();
      const response = await begin();
      await untilSteady(() => reads.length);
      expect(reads.length).toBeLessThan(10);
      // The last page may still be in progress.
      await vi.waitFor(() => {
        const { open, idle } = stage.app.pool.size;
        expect(idle).toBe(open);
      }, 120_000);
      let length = 0;
      for await (const chunk of response) length += (chunk as Buffer).length;
      expect(length).toBeGreaterThan(MANY * LONG);
      expect(counts()).toEqual([['users_listed', MANY]]);
    });

    test('and disconnects, the users read so far are audited, and nothing is logged as an error', async () => {
      await fill(MANY, LONG);
      const reads = spyOnReads();
      const response = await begin();
      await untilSteady(() => reads.length);
      response.destroy();
      await stage.app.log.finds({ msg: 'request aborted' });
      await stage.app.log.finds({ action: 'users_listed' });
      const [[, count] = []] = counts() as [string, number][];
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThanOrEqual(reads.length * PAGE);
      expect(stage.app.log.records.filter(({ level }) => Number(level) >= 40)).toEqual([]);
    });
  });

  /** Until nothing changed while the service handled other requests. */
  async function untilSteady(value: () => number): Promise<void> {
    for (let before = -1; before !== value();) {
      before = value();
      for (let times = 0; times < 20; times++) await stage.get('/health/live');
    }
  }
});

onBothHosts((stage) => {
  afterEach(() => vi.restoreAllMocks());

  test('when the database fails in the middle, the connection is closed, and the failure is logged', async () => {
    await fillUsers(stage, 700);
    const query = stage.app.pool.query.bind(stage.app.pool);
    let times = 0;
    vi.spyOn(stage.app.pool, 'query').mockImplementation((sql, params) =>
      ++times === 2 ? Promise.reject(connectionLost()) : query(sql, params),
    );
    const response = await beginToRead(stage);
    await expect(text(response)).rejects.toThrow('aborted');
    expect(await stage.app.log.finds({ msg: 'request failed' })).toMatchObject({
      level: 50,
      requestId: response.headers['x-request-id'],
      err: { code: 'AMBIT_TX_CONNECTION_LOST' },
    });
    expect(stage.app.log.audits).toMatchObject([{ action: 'users_listed', count: PAGE }]);
  });
});
