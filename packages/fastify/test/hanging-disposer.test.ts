import { hasTag, onDispose, Registration, scope, singleton } from '@ambit/container';
import { expect, test } from 'vitest';
import { application, store } from './support/app.js';

const never = new Promise<void>(() => undefined);

async function withHangingDisposer(disposeTimeoutMs: number) {
  const errors: unknown[] = [];
  const made = await application({ plugin: { disposeTimeoutMs, onDisposeError: (error) => void errors.push(error) } });
  made.container.addRegistration(
    Registration.fromFactory(() => ({ name: 'resource' }))
      .pipe(
        singleton(),
        scope(hasTag('request')),
        onDispose(() => never),
      )
      .to('IResource'),
  );
  return { ...made, errors };
}

test.each([false, true])(
  'an error response waits no longer than disposeTimeoutMs for a disposer that hangs (in a transaction: %s)',
  async (inTransaction) => {
    const { app, errors, pool } = await withHangingDisposer(20);
    app.post('/', async (request) => {
      if (inTransaction) {
        await request.startTransaction();
        await store(request, 'INSERT order');
      }
      request.container.resolve('IResource');
      throw new Error('no stock');
    });

    const response = await app.inject({ method: 'POST', url: '/' });

    expect([response.statusCode, response.json()]).toMatchObject([500, { message: 'no stock' }]);
    expect(errors).toMatchObject([{ code: 'AMBIT_HTTP_DISPOSE_TIMEOUT' }]);
    expect([pool.out, pool.stored]).toEqual([0, []]);
    await expect(app.close()).rejects.toMatchObject({ code: 'AMBIT_HTTP_DISPOSE_TIMEOUT' });
  },
);

test('close() waits no longer than disposeTimeoutMs for a disposer that hangs, and rejects', async () => {
  const { app } = await withHangingDisposer(20);
  app.get('/', (request) => request.container.resolve('IResource'));
  expect((await app.inject('/')).statusCode).toBe(200);
  await expect(app.close()).rejects.toMatchObject({ code: 'AMBIT_HTTP_DISPOSE_TIMEOUT' });
});

test.each([-1, Number.NaN, '5' as unknown as number])('disposeTimeoutMs: %s is refused', async (disposeTimeoutMs) => {
  await expect(application({ plugin: { disposeTimeoutMs } })).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
});
