import { describe, expect, it } from 'vitest';
import { lazy, Registration, singleton, type ContainerError } from '../src/index.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const pool = Registration.fromFactory(() => ({ name: 'pool' })).pipe(singleton());

/** A service of the request that calls its lazy dependency when it is disposed. */
function askingLate(key: string) {
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
  ).pipe(singleton(), perRequest);
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

  it('is refused for a service of that request', async () => {
    const { got, registration } = askingLate('IContext');
    const app = openApplication(pool.pipe(perRequest).to('IContext'), registration.to('ILate'));
    const request = openRequest(app);
    request.resolve('IContext');
    request.resolve('ILate');
    await request.dispose();

    expect(got).toEqual(['AMBIT_DISPOSED']);
  });

  it('is refused for a service of the application, where that is disposed as a whole', async () => {
    const { got, registration } = askingLate('IPool');
    const app = openApplication(pool.to('IPool'), registration.to('ILate'));
    openRequest(app).resolve('ILate');
    await app.dispose();

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
