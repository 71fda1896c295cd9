import { describe, expect, it } from 'vitest';
import { decorate, onDispose, Registration, singleton } from '../src/index.js';
import { inScope } from '../src/work.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

const reason = new Error('The payment was declined');

/** Notes with which arguments it was disposed. */
const noting = (got: unknown[], name: symbol | 'dispose') =>
  Registration.fromFactory(() => ({ [name]: (...args: unknown[]) => void got.push(...args) })).pipe(singleton());

describe('the reason of dispose(reason)', () => {
  it.each(['dispose', Symbol.dispose, Symbol.asyncDispose] as const)('is passed to %s of an instance', async (name) => {
    const got: unknown[] = [];
    const app = openApplication(noting(got, name).pipe(perRequest).to('INoting'));
    const request = openRequest(app);
    request.resolve('INoting');
    await request.dispose(reason);

    expect(got).toEqual([reason]);
  });

  it('is passed to what an async factory made, to onDispose callbacks and to work given to defer()', async () => {
    const got: unknown[] = [];
    const app = openApplication(
      Registration.fromFactory(async () => ({ dispose: (why: unknown) => void got.push(['async', why]) }))
        .pipe(singleton(), perRequest)
        .to('IAsync'),
      Registration.fromFactory(() => 'made')
        .pipe(
          singleton(),
          perRequest,
          onDispose((made, why) => void got.push([made, why])),
          decorate((made) => `${made} and wrapped`),
          onDispose((made, why) => void got.push([made, why])),
        )
        .to('IMade'),
    );
    const request = openRequest(app);
    await request.resolve('IAsync');
    request.resolve('IMade');
    request.defer((why) => void got.push(['deferred', why]));
    await request.dispose(reason);

    expect(got).toEqual([
      ['deferred', reason],
      ['made', reason],
      ['made and wrapped', reason],
      ['async', reason],
    ]);
  });

  it('is passed to the scopes below that are disposed with it, but a scope disposed before has its own', async () => {
    const got: unknown[] = [];
    const app = openApplication();
    const request = openRequest(app);
    const [first, second] = [openTransaction(request), openTransaction(request)];
    first.defer((why) => void got.push(['first', why]));
    second.defer((why) => void got.push(['second', why]));
    request.defer((why) => void got.push(['request', why]));
    await first.dispose();
    await request.dispose(reason);
    await app.dispose();

    expect(got).toEqual([
      ['first', undefined],
      ['second', reason],
      ['request', reason],
    ]);
  });

  it('of a second call changes nothing, and without one nothing failed', async () => {
    const got: unknown[] = [];
    const app = openApplication();
    app.defer((why) => void got.push(why));
    await Promise.all([app.dispose(), app.dispose(reason)]);

    expect(got).toEqual([undefined]);
  });
});

describe('inScope', () => {
  it.each([
    ['what the work threw', () => Promise.reject(reason), reason],
    ['nothing where it returned', () => Promise.resolve('done'), undefined],
  ])('disposes its scope with %s', async (_, work, expected) => {
    const got: unknown[] = [];
    await inScope(openApplication(), {}, (scope) => {
      scope.defer((why) => void got.push(why));
      return work();
    }).catch(() => undefined);

    expect(got).toEqual([expected]);
  });
});
