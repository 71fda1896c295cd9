import { Pause } from '@ambit/host-contract';
import { override } from '@ambit/container/tools';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { App } from './support/app.js';
import { serverKinds, type TestDatabase } from './support/databases.js';
import type { JsonResponse } from './support/http.js';
import { ordersAnd, usersAnd } from './support/replacements.js';

const BODY = { name: 'Ada', email: 'ada@example.org', items: [{ productId: 'apple', quantity: 1 }] };
const ENDPOINTS = [
  { path: '/api/users', table: 'users' },
  { path: '/api/orders', table: 'orders' },
];

describe.each(serverKinds)('two instances on one $name', (kind) => {
  describe.skipIf(kind.missing).each(HOST_VARIANTS)('on %s', (variant) => {
    let database: TestDatabase;
    let one: App;
    let other: App;

    beforeAll(async () => {
      database = await kind.open();
      one = await App.start(variant, database.env);
      other = await App.start(variant, database.env);
    });

    afterAll(async () => {
      for (const app of [one, other]) {
        await app.quiet();
        await app.stop();
      }
      await database.drop();
    });

    describe.each(ENDPOINTS)('asked at $path', ({ path, table }) => {
      const post = (app: App, key: string): Promise<JsonResponse<unknown>> =>
        app.request({ method: 'POST', path, body: BODY, headers: { 'idempotency-key': `${table}-${key}` } });
      const stored = async (): Promise<number> => (await one.pool.query(`SELECT id FROM ${table}`)).length;

      test('do the work once for 20 requests at once', async () => {
        const before = await stored();
        const responses = await Promise.all(
          Array.from({ length: 20 }, (_, index) => post(index % 2 === 0 ? one : other, 'at-once')),
        );
        const statuses = responses.map(({ status }) => status);
        expect(statuses).toContain(201);
        expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([]);
        expect(await stored()).toBe(before + 1);
      });

      test('refuse temporarily what the other is doing, and replay what the other has done', async () => {
        const pause = new Pause();
        using _ = override(one.container, ordersAnd(pause.here), usersAnd(pause.here));
        const first = post(one, 'in-turn');
        await pause.reached;
        const refused = await post(other, 'in-turn');
        expect(refused.status).toBe(409);
        expect(refused.headers.get('retry-after')).toBe('1');
        pause.letGo();
        const { status, body } = await first;
        expect(status).toBe(201);
        const replayed = await post(other, 'in-turn');
        expect(replayed).toMatchObject({ status: 201, body });
        expect(replayed.headers.get('idempotency-replayed')).toBe('true');
      });
    });
  });
});
