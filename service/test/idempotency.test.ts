import { connectionLost, Pause } from '@ambit/test-kit';
import { describe, expect, test, vi } from 'vitest';
import { createKeys } from '../src/infrastructure.js';
import { onOneStage } from './support/stage.js';
import type { JsonResponse } from './support/http.js';
import { ordersAnd, usersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const SEE = '[AMBIT_IDEMPOTENCY_KEY, see /docs]';
const OTHER_WORK = `This Idempotency-Key was used for another request: take a new key for new work ${SEE}`;
const STILL_RUNNING = `A request with this Idempotency-Key is still running: try again when it has finished ${SEE}`;
const BAD_KEY = `Idempotency-Key must be a text of 1 to 255 characters, given once: in double quotes, or without them if it has no space ${SEE}`;

const ENDPOINTS = [
  { path: '/api/users', table: 'users', body: ADA },
  { path: '/api/orders', table: 'orders', body: ORDER },
] as const;

const isReplay = ({ headers }: JsonResponse<unknown>): boolean => headers.get('idempotency-replayed') === 'true';

onOneStage((stage) => {
  describe.each(ENDPOINTS)('a request to $path', ({ path, table, body }) => {
    const post = (content: unknown = body, key = 'a-key') => stage.post(path, content, { 'idempotency-key': key });
    const stored = async (): Promise<number> => (await stage.rows(`SELECT id FROM ${table}`)).length;

    test('that is repeated gets the first response again, also when it is written in another way', async () => {
      const first = await post();
      expect([first.status, isReplay(first)]).toEqual([201, false]);
      const reversed = Object.fromEntries(Object.entries(body).toReversed());
      for (const spelling of [body, JSON.stringify(reversed, null, 4), { page: 3, ...body, note: 'x' }]) {
        const again = await post(spelling);
        expect([again.status, JSON.stringify(again.body), isReplay(again)]).toEqual([
          201,
          JSON.stringify(first.body),
          true,
        ]);
        expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
      }
      expect(await stored()).toBe(1);
    });

    test('under another key, under none, or under the key of another caller is done again', async () => {
      const first = await post();
      expect(isReplay(await post(body, 'another-key'))).toBe(false);
      await stage.post(path, body);
      for (const user of ['Grace', 'Ada\na-key']) {
        stage.app.identify = () => user;
        expect(isReplay(await post())).toBe(false);
      }
      stage.app.identify = () => undefined;
      expect((await post()).body).toEqual(first.body);
      expect(await stored()).toBe(5);
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

    test('whose response was lost can be repeated, and a created user is audited', async () => {
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
      expect([again.status, isReplay(again), await stored()]).toEqual([201, true, 1]);
      const { id } = again.body as { id: string };
      if (table === 'users') expect(stage.app.log.audits).toMatchObject([{ action: 'user_created', userId: id }]);
    });
  });

  test('a key used for a user is refused for an order, and vice versa, and so is what is no key', async () => {
    for (const [first, second] of [ENDPOINTS, ENDPOINTS.toReversed()] as const) {
      const headers = { 'idempotency-key': `first${first?.table}` };
      expect((await stage.post(first?.path ?? '', { ...ADA, ...ORDER }, headers)).status).toBe(201);
      const response = await stage.post(second?.path ?? '', { ...ADA, ...ORDER }, headers);
      expect(response).toMatchObject({ status: 422, body: { error: OTHER_WORK } });
      const malformed = await stage.post(first?.path ?? '', { ...ADA, ...ORDER }, { 'idempotency-key': 'two words' });
      expect(malformed).toMatchObject({ status: 400, body: { error: BAD_KEY } });
    }
  });

  test('a failure to delete expired keys is logged, and the service starts nevertheless', async () => {
    const spies = (['query', 'getConnection'] as const).map((method) =>
      vi.spyOn(stage.app.pool, method).mockRejectedValueOnce(connectionLost()),
    );
    const expired = createKeys(stage.app.pool, stage.app.container.resolve('ISqlDialect'), stage.app.log.logger);
    expired.start();
    expired.dispose();
    const msg = 'Expired idempotency keys were not deleted; the next attempt is in an hour';
    const record = await stage.app.log.finds({ msg });
    for (const spy of spies) spy.mockRestore();
    expect(record).toMatchObject({ level: 40, err: { code: 'AMBIT_TX_CONNECTION_LOST' } });
  });
});
