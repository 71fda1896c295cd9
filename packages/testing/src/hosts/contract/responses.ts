import { Readable } from 'node:stream';
import { describe, expect } from 'vitest';
import type { Reply } from '../host.js';
import { CREATED, ORDER } from '../stage.js';
import type { StageTest } from '../stage-test.js';

/** All that a handler can respond with. */
export const REPLIES: readonly { name: string; reply: () => Reply; status: number; text: string }[] = [
  { name: 'JSON', reply: () => CREATED, status: 201, text: '{"created":true}' },
  { name: 'an empty JSON object', reply: () => ({ kind: 'json', body: {} }), status: 200, text: '{}' },
  { name: 'text', reply: () => ({ kind: 'text', text: 'hello' }), status: 200, text: 'hello' },
  { name: 'empty text', reply: () => ({ kind: 'text', text: '' }), status: 200, text: '' },
  { name: 'a raw end', reply: () => ({ kind: 'end', text: 'hello' }), status: 200, text: 'hello' },
  { name: 'a status alone', reply: () => ({ kind: 'status', status: 204 }), status: 204, text: '' },
  { name: 'a redirect', reply: () => ({ kind: 'redirect', to: '/elsewhere' }), status: 302, text: '' },
  {
    name: 'a stream',
    reply: () => ({ kind: 'stream', stream: Readable.from(['a', 'b', 'c']) }),
    status: 200,
    text: 'abc',
  },
  {
    name: 'a long stream',
    reply: () => ({ kind: 'stream', stream: Readable.from(Array.from({ length: 100 }, () => 'x'.repeat(10_000))) }),
    status: 200,
    text: 'x'.repeat(1_000_000),
  },
];

/** A handler that responds has its transaction committed before anybody hears of the response. */
export function responseContract(test: StageTest): void {
  describe('a response in a transaction', () => {
    test('is sent when the order is stored and the connection is back in the pool', async ({ stage }) => {
      const openInHandler: string[] = [];
      await stage.serveOrder(async (call) => {
        openInHandler.push(...stage.scopes.open);
        await stage.insertOrder(call);
        return CREATED;
      });
      expect(await stage.order()).toMatchObject({ status: 201, text: '{"created":true}' });
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
      expect(await stage.stored()).toBe(true);
      expect(openInHandler).toEqual(['request', 'transaction']);
      await stage.quiet();
      expect([stage.scopes.count('request'), stage.scopes.count('transaction')]).toEqual([1, 1]);
    });

    test.for(REPLIES)(
      'of $name arrives whole, and not a byte of it before COMMIT has succeeded',
      async ({ reply, status, text }, { stage }) => {
        await stage.serveOrder(stage.orderThen(reply));
        const client = await stage.client();
        let early = -1;
        stage.pool.before('commit', async () => {
          await stage.get('/ping');
          early = client.received;
        });
        const response = await client.request(ORDER);
        expect(early).toBe(0);
        expect(response.status).toBe(status);
        expect(response.text).toContain(text);
        expect(await stage.stored()).toBe(true);
        await stage.quiet();
        expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
      },
    );

    test('leaves its connection ready for the next request', async ({ stage }) => {
      await stage.serveOrder(stage.createOwnOrder);
      const client = await stage.client();
      const ids: string[] = Array.from({ length: 5 }, () => crypto.randomUUID());
      for (const id of ids) expect((await client.request({ ...ORDER, body: { id } })).status).toBe(201);
      for (const id of ids) expect(await stage.stored(id)).toBe(true);
      await stage.quiet();
      expect(stage.scopes.count('transaction')).toBe(5);
    });

    test('to more clients than there are connections comes to each of them', async ({ stage }) => {
      await stage.serveOrder(stage.createOwnOrder);
      const ids: string[] = Array.from({ length: 12 }, () => crypto.randomUUID());
      const responses = await Promise.all(ids.map((id) => stage.request({ ...ORDER, body: { id } })));
      for (const { status } of responses) expect(status).toBe(201);
      for (const id of ids) expect(await stage.stored(id)).toBe(true);
      await stage.quiet();
      expect(stage.pool.steps.filter((step) => step === 'release')).toHaveLength(12);
    });

    test('to a pipelined request comes in its turn', async ({ stage }) => {
      await stage.serveOrder(stage.createOwnOrder);
      const client = await stage.client();
      const ids: string[] = Array.from({ length: 4 }, () => crypto.randomUUID());
      client.send(...ids.map((id) => ({ ...ORDER, body: { id } })));
      for (const id of ids) {
        expect(JSON.parse((await client.response()).text)).toEqual({ id });
        expect(await stage.stored(id)).toBe(true);
      }
    });

    test('with HEAD is committed too', async ({ stage }) => {
      await stage.serve([
        {
          method: 'GET',
          path: '/orders',
          transaction: {},
          handle: stage.orderThen(() => ({ kind: 'json', body: { a: 1 } })),
        },
      ]);
      expect(await stage.request({ method: 'HEAD', path: '/orders' })).toMatchObject({ status: 200, text: '' });
      expect(await stage.stored()).toBe(true);
    });

    test('of an error status that the handler chose is committed: it was no failure', async ({ stage }) => {
      await stage.serveOrder(stage.orderThen(() => ({ kind: 'json', status: 409, body: { error: 'taken' } })));
      expect((await stage.order()).status).toBe(409);
      expect(await stage.stored()).toBe(true);
    });

    test('is the first one; a second is dropped', async ({ stage }) => {
      await stage.serveOrder(
        stage.orderThen(async ({ respond }) => {
          await respond(CREATED);
          return { kind: 'json', status: 200, body: { second: true } };
        }),
      );
      const client = await stage.client();
      expect(await client.request(ORDER)).toMatchObject({ status: 201, text: '{"created":true}' });
      expect((await client.request({ path: '/ping' })).text).toBe('pong');
      expect(await stage.stored()).toBe(true);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
    });

    test('stands, and so does its order, when the handler fails afterwards', async ({ stage }) => {
      await stage.serveOrder(
        stage.orderThen(async ({ respond }) => {
          await respond(CREATED);
          throw new Error('too late');
        }),
      );
      const client = await stage.client();
      expect((await client.request(ORDER)).status).toBe(201);
      expect((await client.request({ path: '/ping' })).text).toBe('pong');
      expect(await stage.stored()).toBe(true);
    });

    test('closes the IConnection: a query afterwards is refused', async ({ stage }) => {
      let late: Promise<unknown> | undefined;
      await stage.serveOrder(async (call) => {
        const connection = call.transactionScope.resolve<{ query(sql: string): Promise<unknown> }>('IConnection');
        await stage.insertOrder(call);
        await call.respond(CREATED);
        await stage.pool.reaches('release');
        late = connection.query('DELETE FROM orders');
        await late.catch(() => undefined);
        stage.happenings.tell();
      });
      await stage.order();
      await stage.happenings.until(() => late !== undefined, 'the late query is tried');
      await expect(late).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
      expect(await stage.stored()).toBe(true);
    });
  });
}
