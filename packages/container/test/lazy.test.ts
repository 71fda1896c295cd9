import { describe, expect, it, vi } from 'vitest';
import { inject, lazy, Registration, singleton, hasTag, scope, type ContainerError } from '../src/index.js';
import { verify } from '../src/tools.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Reports {
  constructor(@inject(lazy('IPrinter')) readonly printer: () => object) {}
}
const reports = Registration.fromClass(Reports);

/** Counts the printers it makes and the disposals of each. */
function printers() {
  const counts = { made: 0, disposed: 0 };
  const make = () => {
    counts.made++;
    return { dispose: () => counts.disposed++ };
  };
  return { counts, printer: Registration.fromFactory(make) };
}

describe('lazy', () => {
  it('works in a list of dependencies, for factories and classes', () => {
    class Plain {
      constructor(readonly printer: () => unknown) {}
    }
    const app = openApplication(
      Registration.fromValue('printed').to('IPrinter'),
      Registration.fromClass(Plain, [lazy('IPrinter')]).to('IPlain'),
      Registration.fromFactory((printer) => printer(), [lazy('IPrinter')]).to('ICalled'),
    );
    expect(app.resolve<Plain>('IPlain').printer()).toBe('printed');
    expect(app.resolve('ICalled')).toBe('printed');
  });

  it('breaks a cycle: both services reach each other, and verify agrees', () => {
    class Parent {
      constructor(@inject(lazy('IChild')) readonly child: () => Child) {}
    }
    class Child {
      constructor(@inject('IParent') readonly parent: Parent) {}
    }
    for (const first of ['IParent', 'IChild']) {
      const app = openApplication(
        Registration.fromClass(Parent).pipe(singleton()).to('IParent'),
        Registration.fromClass(Child).pipe(singleton()).to('IChild'),
      );
      expect(() => verify(app)).not.toThrow();
      app.resolve(first);

      expect(app.resolve<Parent>('IParent').child()).toBe(app.resolve('IChild'));
      expect(app.resolve<Child>('IChild').parent).toBe(app.resolve('IParent'));
    }
  });

  it('breaks a cycle through a class that is not registered, and verify agrees', () => {
    class Child {
      constructor(@inject('IParent') readonly parent: unknown) {}
    }
    class Parent {
      constructor(@inject(lazy(Child)) readonly child: () => Child) {}
    }
    const app = openApplication(Registration.fromClass(Parent).pipe(singleton()).to('IParent'));
    expect(() => verify(app)).not.toThrow();

    const parent = app.resolve<Parent>('IParent');
    expect(parent.child().parent).toBe(parent);
  });

  it('does not break a cycle when it is used before both services are made', () => {
    class Hasty {
      readonly child: unknown;
      constructor(@inject(lazy('IChild')) child: () => unknown) {
        this.child = child();
      }
    }
    const app = openApplication(
      Registration.fromClass(Hasty).pipe(singleton()).to('IHasty'),
      Registration.fromFactory((parent) => ({ parent }), ['IHasty'])
        .pipe(singleton())
        .to('IChild'),
    );
    expect(refusal(() => app.resolve('IHasty')).code).toBe('AMBIT_CYCLE');
    expect(refusal(() => app.resolve('IChild')).code).toBe('AMBIT_CYCLE');
  });

  it('finds what was registered directly after its holder was made', () => {
    const transaction = openTransaction(openRequest(openApplication(reports.to('IReports'))));
    const { printer } = transaction.resolve<Reports>('IReports');
    expect(refusal(printer).code).toBe('AMBIT_NOT_REGISTERED');
    transaction.register('IPrinter', () => 'printed');

    expect(printer()).toBe('printed');
  });

  it('does not let a service reach one with a shorter lifetime', () => {
    const app = openApplication(
      printers().printer.pipe(singleton(), perRequest).to('IPrinter'),
      reports.pipe(singleton()).to('IReports'),
    );
    const { printer } = openRequest(app).resolve<Reports>('IReports');

    expect(refusal(printer)).toMatchObject({ key: 'IPrinter', tags: [['application']] });
    expect(['AMBIT_OUT_OF_SCOPE', 'AMBIT_CAPTIVE_DEPENDENCY']).toContain(refusal(printer).code);
    const { problems } = refusal(() => verify(app, { tags: ['request'] }));
    expect(problems).toMatchObject([{ code: 'AMBIT_CAPTIVE_DEPENDENCY', path: ['IReports', 'IPrinter'] }]);
    expect(problems[0]?.message).toContain("'IReports'");
  });
});

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
