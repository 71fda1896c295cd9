import { Readable } from 'node:stream';
import { setTimeout as after } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { addWithHead, compress, connectionLost, saveFirst, type Wrap } from '../../tools.js';
import type { Reply, Route } from '../host.js';
import { CREATED, ORDER, type Stage } from '../stage.js';
import type { StageTest } from '../stage-test.js';

const wraps: readonly (readonly [what: string, wrap: Wrap])[] = [
  ['compresses it', (res) => compress(res)],
  ['would compress it if it were longer', (res) => compress(res, { applies: false })],
  ['stores a session before its last byte', (res) => saveFirst(res, () => after(5))],
  ['adds a header with its head', (res) => addWithHead(res, 'x-response-time', '1')],
];

const replies: readonly (readonly [what: string, reply: () => Reply, text: string])[] = [
  ['JSON', () => CREATED, '{"created":true}'],
  ['a stream', () => ({ kind: 'stream', stream: Readable.from(['a', 'b', 'c']) }), 'abc'],
];

const cases = wraps.flatMap(([what, wrap]) =>
  replies.flatMap(([kind, reply, text]) =>
    (['before', 'behind'] as const).map((where) => ({ what, wrap, kind, reply, text, where })),
  ),
);

/** COMMIT fails: the client receives one error, whole, on a connection that goes on to work. */
export async function expectOneError(stage: Stage): Promise<void> {
  stage.pool.before('commit', () => {
    throw connectionLost();
  });
  const client = await stage.client();
  const { status, text } = await client.request(ORDER);
  expect([status, JSON.parse(text)]).toMatchObject([503, { detail: 'Try again later' }]);
  expect((await client.request({ path: '/ping' })).text).toBe('pong');
  expect(client.unread).toBe('');
}

/** The popular middlewares themselves are in `test/frameworks/`; these do what such a middleware does to the response. */
export function wrappedResponseContract(test: StageTest): void {
  describe('a response that middlewares wrap', () => {
    const serve = (stage: Stage, { wrap, reply, where }: (typeof cases)[number]): Promise<void> => {
      const orders: Route = {
        method: 'POST',
        path: '/orders',
        transaction: {},
        wrap: { [where]: wrap },
        handle: stage.orderThen(reply),
      };
      return stage.serve([orders, { method: 'GET', path: '/ping', handle: () => ({ kind: 'text', text: 'pong' }) }]);
    };

    test.for(cases)('$kind arrives whole where one $where the transaction $what', async (wrapped, { stage }) => {
      await serve(stage, wrapped);
      const client = await stage.client();
      const { status, text } = await client.request(ORDER);
      expect([status < 300, text]).toEqual([true, wrapped.text]);
      expect((await client.request({ path: '/ping' })).text).toBe('pong');
      expect(client.unread).toBe('');
      expect(await stage.stored()).toBe(true);
    });

    test.for(cases)(
      '$kind is replaced by one whole error when COMMIT fails and one $where the transaction $what',
      async (wrapped, { stage }) => {
        await serve(stage, wrapped);
        await expectOneError(stage);
        expect(await stage.stored()).toBe(false);
        expect(stage.errors).toHaveLength(1);
      },
    );
  });
}
