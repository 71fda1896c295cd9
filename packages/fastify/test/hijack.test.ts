import type { FakePoolOptions } from '@ambit/transaction/testing';
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';
import { describe, expect, test, vi } from 'vitest';
import { containerPlugin, transactionPlugin } from '../src/index.js';
import { application, failing, leftovers, store } from './support/app.js';

describe('a handler that takes the response into its own hands', () => {
  async function respondHijacked(
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
    options: FakePoolOptions = {},
  ) {
    const lines: string[] = [];
    const { container, pool } = await application({ pool: options });
    const app = fastify({ logger: { level: 'error', stream: { write: (line) => void lines.push(line) } } });
    await app.register(containerPlugin, { container });
    await app.register(transactionPlugin);
    app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await handler(request, reply);
      reply.hijack().raw.end('mine');
    });
    const { body } = await app.inject({ method: 'POST', url: '/' });
    expect(body).toBe('mine');
    expect(await leftovers({ container, pool })).toEqual([]);
    await app.close();
    return { codes: lines.map((line) => (JSON.parse(line) as { err: { code: string } }).err.code), pool };
  }

  test('with its transaction open stores nothing, and the log of the request says so', async () => {
    const { codes, pool } = await respondHijacked(async () => undefined);
    expect(codes).toEqual(['AMBIT_HTTP_TRANSACTION_LEFT_OPEN']);
    expect(pool.stored).toEqual([]);
  });

  test.each(['awaited', 'in progress'])(
    'after a commit (%s) has stored its work, and nothing is logged',
    async (how) => {
      const { codes, pool } = await respondHijacked(async (request) => {
        const commit = request.commitTransaction();
        if (how === 'awaited') await commit;
      });
      expect(codes).toEqual([]);
      expect(pool.stored).toEqual(['INSERT order']);
    },
  );

  test.each([
    ['refused', 'AMBIT_TX_COMMIT_FAILED'],
    ['lost', 'AMBIT_TX_OUTCOME_UNKNOWN'],
  ] as const)('after a commit in progress that is %s has in the log what is known of it', async (kind, code) => {
    const { codes, pool } = await respondHijacked(async (request) => void request.commitTransaction(), {
      faultAt: failing('commit', kind),
    });
    expect(codes).toEqual([code]);
    expect(pool.stored).toEqual([]);
  });

  test('after a commit that it did not await, and that had failed by then, has its error in the log', async () => {
    const { codes } = await respondHijacked(
      async (request) => {
        void request.commitTransaction();
        await vi.waitUntil(() => request.transactionScope === undefined, { interval: 1 });
      },
      { faultAt: failing('commit', 'refused') },
    );
    expect(codes).toEqual(['AMBIT_TX_COMMIT_FAILED']);
  });

  test('after a rollback that it did not await is not complained of', async () => {
    const { codes, pool } = await respondHijacked(async (request) => void request.rollbackTransaction());
    expect(codes).toEqual([]);
    expect(pool.stored).toEqual([]);
  });
});
