import { describe, expect, it, vi } from 'vitest';
import { hasTag, lazy, Registration, scope, singleton, type ContainerError } from '../src/index.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const pool = Registration.fromFactory(() => ({ name: 'pool' })).pipe(singleton());

/** A service of the request that calls its lazy dependency when it is disposed. */
function askingLate(key: string, here = perRequest) {
  const got: unknown[] = [];
  const registration = Registration.fromFactory(
    (get: () => unknown) => ({
      dispose() {
        try {
          got.push(get());
        } catch (error) {
          got.push((error as ContainerError).code);
        }
      },
    }),
    [lazy(key)],
  ).pipe(singleton(), here);
  return { got, registration };
}

describe('a lazy called while a request scope is disposed', () => {
  it.each([
    ['made before', true],
    ['not made yet', false],
  ])('gives a service of the application, which is not disposed: %s', async (_, isMade) => {
    const { got, registration } = askingLate('IPool');
    const app = openApplication(pool.to('IPool'), registration.to('ILate'));
    if (isMade) app.resolve('IPool');
    const request = openRequest(app);
    request.resolve('ILate');
    await request.dispose();

    expect(got).toEqual([app.resolve('IPool')]);
    expect(got[0]).toBe(app.resolve('IPool'));
  });

  it.each([
    ['made before', true],
    ['not made yet', false],
  ])('gives it also where the application is disposed as a whole: %s', async (_, isMade) => {
    const { got, registration } = askingLate('IPool');
    const closed = vi.fn<(gotSoFar: number) => void>();
    const closing = Registration.fromFactory(() => ({ dispose: () => closed(got.length) })).pipe(singleton());
    const app = openApplication(closing.to('IPool'), registration.to('ILate'));
    const made = isMade ? app.resolve('IPool') : undefined;
    openTransaction(openRequest(app)).resolve('ILate');
    await app.dispose();

    expect(got).toEqual([made ?? { dispose: expect.any(Function) as unknown }]);
    // A dependency is disposed after what depends on it.
    expect(closed.mock.calls).toEqual([[1]]);
  });

  it.each([
    ['of the request', perRequest],
    ['of the application', scope(hasTag('application'))],
  ])('gives a service that has no disposer, or is disposed later: %s', async (_, here) => {
    const closing = Registration.fromFactory(() => ({ name: 'pool', dispose: () => undefined }));
    for (const dependency of [pool, closing]) {
      const { got, registration } = askingLate('IContext', here);
      const app = openApplication(dependency.pipe(singleton(), here).to('IContext'), registration.to('ILate'));
      const at = here === perRequest ? openRequest(app) : app;
      at.resolve('IContext');
      at.resolve('ILate');
      await at.dispose();

      expect(got).toEqual([expect.objectContaining({ name: 'pool' })]);
    }
  });

  it.each([
    ['has been disposed', true],
    ['was never made', false],
  ])('is refused for a service of the same scope that %s', async (_, isMade) => {
    const { got, registration } = askingLate('IContext');
    const app = openApplication(
      Registration.fromFactory(() => ({ dispose: () => undefined }))
        .pipe(singleton(), perRequest)
        .to('IContext'),
      registration.to('ILate'),
    );
    const request = openRequest(app);
    request.resolve('ILate');
    if (isMade) request.resolve('IContext');
    await request.dispose();

    expect(got).toEqual(['AMBIT_DISPOSED']);
  });

  it('gives a service of the request while only a transaction in it is disposed', async () => {
    const app = openApplication(pool.pipe(perRequest).to('IContext'));
    const request = openRequest(app);
    const transaction = openTransaction(request);
    const got: unknown[] = [];
    transaction.addRegistration(
      Registration.fromFactory((get: () => unknown) => ({ dispose: () => void got.push(get()) }), [lazy('IContext')])
        .pipe(singleton())
        .to('ILate'),
    );
    transaction.resolve('ILate');
    await transaction.dispose();

    expect(got).toEqual([request.resolve('IContext')]);
  });
});
