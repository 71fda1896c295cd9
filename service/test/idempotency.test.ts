import { Pause } from '@ambit/host-contract';
import { describe, expect, test } from 'vitest';
import { onEveryStage } from './support/every-stage.js';
import type { JsonResponse } from './support/http.js';
import { ordersAnd, usersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const DAY_MS = 86_400_000;
const OTHER_WORK = 'This Idempotency-Key was used for another request: take a new key for new work';
const STILL_RUNNING = 'A request with this Idempotency-Key is still running: try again when it has finished';

const ENDPOINTS = [
  { path: '/api/users', table: 'users', body: ADA, other: { ...ADA, name: 'Grace' } },
  { path: '/api/orders', table: 'orders', body: ORDER, other: { items: [{ productId: 'pear', quantity: 1 }] } },
] as const;

const isReplay = ({ headers }: JsonResponse<unknown>): boolean => headers.get('idempotency-replayed') === 'true';

onEveryStage((stage) => {
  const ageKeysBy = (ms: number) => stage.rows('UPDATE idempotency_keys SET created_at = created_at - $1', [ms]);

  describe.each(ENDPOINTS)('a request to $path', ({ path, table, body, other }) => {
    const post = (content: unknown = body, key = 'a-key') => stage.post(path, content, { 'idempotency-key': key });
    const stored = async (): Promise<number> => (await stage.rows(`SELECT id FROM ${table}`)).length;

    test('that is repeated gets the first response again, and is done once', async () => {
      const first = await post();
      expect(first.status).toBe(201);
      expect(first.headers.has('idempotency-replayed')).toBe(false);
      for (let times = 0; times < 2; times++) {
        const again = await post();
        expect(again).toMatchObject({ status: 201, body: first.body });
        expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body));
        expect(isReplay(again)).toBe(true);
        expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
      }
      expect(await stored()).toBe(1);
    });

    test('under another key, or none, is done again', async () => {
      await post();
      expect(isReplay(await post(body, 'another-key'))).toBe(false);
      await stage.post(path, body);
      await stage.post(path, body);
      expect(await stored()).toBe(4);
    });

    test('under the key of another caller is separate work', async () => {
      const postAs = (user: string | undefined) => {
        stage.app.identify = () => user;
        return post();
      };
      const first = await postAs('Ada');
      for (const user of ['Grace', 'Ada\na-key', undefined]) expect(isReplay(await postAs(user))).toBe(false);
      expect(await postAs('Ada')).toMatchObject({ status: 201, body: first.body });
      expect(await stored()).toBe(4);
    });

    test('with another body under the same key is refused', async () => {
      await post();
      expect(await post(other)).toMatchObject({ status: 422, body: { error: OTHER_WORK } });
      expect(await stored()).toBe(1);
    });

    test('with other white space is the same request', async () => {
      const first = await post();
      const reversed = Object.fromEntries(Object.entries(body).toReversed());
      for (const spelling of [JSON.stringify(reversed, null, 4), { page: 3, ...body, note: 'x' }]) {
        const again = await post(spelling);
        expect(again.body).toEqual(first.body);
        expect(isReplay(again)).toBe(true);
      }
    });

    test('that is repeated while the first is running gets 409 with Retry-After', async () => {
      const pause = new Pause();
      stage.replace(ordersAnd(pause.here), usersAnd(pause.here));
      const first = post();
      await pause.reached;
      const second = await post();
      expect(second).toMatchObject({ status: 409, body: { error: STILL_RUNNING } });
      expect(second.headers.get('retry-after')).toBe('1');
      pause.letGo();
      const { body: created } = await first;
      expect(await post()).toMatchObject({ status: 201, body: created });
    });

    test('that failed is done when it is repeated', async () => {
      let times = 0;
      const failFirst = (): void => {
        if (++times === 1) throw new Error('It went wrong');
      };
      stage.replace(ordersAnd(failFirst), usersAnd(failFirst));
      expect((await post()).status).toBe(500);
      const second = await post();
      expect(second.status).toBe(201);
      expect(isReplay(second)).toBe(false);
      expect(await stored()).toBe(1);
    });

    test('that was refused has not used up its key', async () => {
      expect((await post({})).status).toBe(400);
      expect((await post()).status).toBe(201);
    });

    test('sent by 20 clients at once is done once', async () => {
      const responses = await Promise.all(Array.from({ length: 20 }, () => post()));
      const created = responses.filter(({ status }) => status === 201);
      expect(created.filter((response) => !isReplay(response))).toHaveLength(1);
      expect(responses.filter(({ status }) => status === 409)).toHaveLength(20 - created.length);
      for (const response of created) expect(response.body).toEqual(created[0]?.body);
      expect(await stored()).toBe(1);
    });

    test('whose response was lost can be repeated', async () => {
      const pause = new Pause();
      stage.after('commit', pause.here);
      const client = await stage.app.client();
      client.send({ method: 'POST', path, body, headers: { 'idempotency-key': 'a-key' } });
      await pause.reached;
      client.reset();
      await stage.app.log.finds({ msg: 'request aborted', path });
      pause.letGo();
      await stage.app.quiet();
      const again = await post();
      expect(again.status).toBe(201);
      expect(isReplay(again)).toBe(true);
      expect(await stored()).toBe(1);
      const { id } = again.body as { id: string };
      if (table === 'users') expect(stage.app.log.audits).toMatchObject([{ action: 'user_created', userId: id }]);
    });

    test('that is committed can be repeated while its response waits for its client', async () => {
      const { app } = stage;
      const [pause, checkedOut] = [new Pause(), app.pool.checkedOut];
      app.identify = ({ url }) => (url === '/health/live' ? pause.here().then(() => undefined) : undefined);
      const client = await app.client();
      client.send({ path: '/health/live' }, { method: 'POST', path, body, headers: { 'idempotency-key': 'a-key' } });
      await app.happenings.until(() => app.pool.checkedOut > checkedOut && app.pool.out.size === 0, 'the work is done');
      expect(client.received).toBe(0);
      const again = await post();
      pause.letGo();
      expect(again.status).toBe(201);
      expect(isReplay(again)).toBe(true);
      expect([await client.response(), await client.response()]).toMatchObject([{ status: 200 }, { status: 201 }]);
    });

    test('under an expired key is new, and then stored', async () => {
      const first = await post();
      await ageKeysBy(DAY_MS - 60_000);
      expect((await post()).body).toEqual(first.body);
      await ageKeysBy(60_000);
      const again = await post(other);
      expect(again.status).toBe(201);
      expect(isReplay(again)).toBe(false);
      expect(isReplay(await post(other))).toBe(true);
      expect(await stored()).toBe(2);
    });

    test.each(['', 'two words', 'x'.repeat(256), 'é', 'a\tb'])('with the key %j is refused', async (key) => {
      expect(await post(body, key)).toMatchObject({
        status: 400,
        body: { error: 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once' },
      });
      expect(await stored()).toBe(0);
    });

    test.each(['x', '~!"#$%&()*+,;', 'x'.repeat(255), '"in quotes"'])('may have the key %s', async (key) => {
      expect((await post(body, key)).status).toBe(201);
      expect(isReplay(await post(body, key))).toBe(true);
    });
  });

  test('a key used for a user is refused for an order, and vice versa', async () => {
    for (const [first, second] of [ENDPOINTS, ENDPOINTS.toReversed()] as const) {
      const headers = { 'idempotency-key': `first${first?.table}` };
      expect((await stage.post(first?.path ?? '', { ...ADA, ...ORDER }, headers)).status).toBe(201);
      const response = await stage.post(second?.path ?? '', { ...ADA, ...ORDER }, headers);
      expect(response).toMatchObject({ status: 422, body: { error: OTHER_WORK } });
    }
  });

  test('stock is taken once, however often an order is sent', async () => {
    await stage.rows(`INSERT INTO stock (product_id, level) VALUES ('apple', 5)`);
    for (let times = 0; times < 3; times++) await stage.post('/api/orders', ORDER, { 'idempotency-key': 'a-key' });
    expect(await stage.rows('SELECT level FROM stock')).toEqual([{ level: 4 }]);
  });

  test('an order refused because of missing stock is placed when there is enough', async () => {
    await stage.rows(`INSERT INTO stock (product_id, level) VALUES ('apple', 0)`);
    const order = () => stage.post('/api/orders', ORDER, { 'idempotency-key': 'a-key' });
    expect((await order()).status).toBe(409);
    await stage.rows('UPDATE stock SET level = 1');
    expect((await order()).status).toBe(201);
  });
});
