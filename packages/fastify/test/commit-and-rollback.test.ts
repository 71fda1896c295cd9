import type { IConnection } from '@ambit/transaction';
import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { application, failing, leftovers, store } from './support/app.js';

describe('rollbackTransaction()', () => {
  test.each([
    ['which nobody awaits', (request: FastifyRequest) => void request.rollbackTransaction()],
    [
      'or rollback() of the connection',
      (request: FastifyRequest) => request.transactionScope?.resolve<IConnection>('IConnection').rollback(),
    ],
  ])('%s, keeps the response of the handler', async (_how, rollback) => {
    const made = await application();
    made.app.post('/', async (request, reply) => {
      await request.startTransaction();
      await store(request, 'INSERT order');
      await rollback(request);
      return reply.code(409).send('taken');
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.body]).toEqual([409, 'taken']);
    expect(made.pool.stored).toEqual([]);
    expect(await leftovers(made)).toEqual([]);
  });

  test('cancels a start that is in progress', async () => {
    const made = await application({ pool: { faultAt: () => ({ ms: 20, kind: 'none' }) } });
    made.app.post('/', async (request) => {
      const starting = request.startTransaction();
      const [, started] = await Promise.allSettled([request.rollbackTransaction(), starting]);
      return { started: started.status, scope: request.transactionScope === undefined };
    });

    const response = await made.app.inject({ method: 'POST', url: '/' });

    expect(response.json()).toEqual({ started: 'rejected', scope: true });
    expect(await leftovers(made)).toEqual([]);
  });

  test('that the database does not respond to never rejects', async () => {
    const errors: Error[] = [];
    const made = await application({ pool: { faultAt: failing('rollback', 'lost') } });
    made.app.post('/', async (request) => {
      await request.startTransaction({ onError: (error) => void errors.push(error) });
      await request.rollbackTransaction();
      return 'ok';
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).body).toBe('ok');
    expect(errors).toMatchObject([{ code: 'AMBIT_TX_ROLLBACK_FAILED' }]);
    expect(await leftovers(made)).toEqual([]);
  });
});

describe('a commit stands', () => {
  test('when the handler closed the transaction through the connection', async () => {
    const made = await application();
    made.app.post('/', async (request) => {
      const scope = await request.startTransaction();
      await store(request, 'INSERT order');
      await scope.resolve<IConnection>('IConnection').commit();
      return 'ok';
    });

    expect((await made.app.inject({ method: 'POST', url: '/' })).body).toBe('ok');
    expect(made.pool.stored).toEqual(['INSERT order']);
    expect(await leftovers(made)).toEqual([]);
  });
});
