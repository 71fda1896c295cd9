import { describe, expect, it } from 'vitest';
import { inject, Registration, singleton } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

const broken = new Error('the database is not there yet');

/** A factory that throws a given number of times. */
function flaky(failures: number) {
  let attempts = 0;
  const make = () => {
    attempts++;
    if (attempts <= failures) throw broken;
    return { attempts };
  };
  return Registration.fromFactory(make);
}

/** What the work throws. */
function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('a constructor that throws and succeeds later', () => {
  it.each([
    ['a singleton', flaky(2).pipe(singleton())],
    ['a request’s singleton', flaky(2).pipe(singleton(), perRequest)],
    ['a transient', flaky(2)],
  ])('is asked again, and its error arrives as it was: %s', (_, registration) => {
    const request = openRequest(openApplication(registration.to('IPool')));

    expect(thrownBy(() => request.resolve('IPool'))).toBe(broken);
    expect(thrownBy(() => request.resolve('IPool'))).toBe(broken);
    expect(request.resolve('IPool')).toEqual({ attempts: 3 });
  });

  it('leaves the singletons made for it to the next attempt', () => {
    let made = 0;
    let attempts = 0;
    class Users {
      constructor(
        @inject('IPool') readonly pool: unknown,
        @inject('INew') readonly fresh: unknown,
      ) {
        if (++attempts === 1) throw broken;
      }
    }
    const pool = Registration.fromFactory(() => ({ number: ++made }));
    const app = openApplication(
      pool.pipe(singleton()).to('IPool'),
      Registration.fromFactory(() => ({})).to('INew'),
      Registration.fromClass(Users).pipe(singleton()).to('IUsers'),
    );

    expect(thrownBy(() => app.resolve('IUsers'))).toBe(broken);
    expect(app.resolve<Users>('IUsers').pool).toBe(app.resolve('IPool'));
    expect(made).toBe(1);
    expect(attempts).toBe(2);
  });

  it('deep in a graph fails the one who asks for it, and none of them once it succeeds', () => {
    const over = (key: string) => Registration.fromFactory((below) => ({ below }), [key]).pipe(singleton());
    const app = openApplication(
      over('IRepo').to('IHandler'),
      over('IPool').pipe(perRequest).to('IRepo'),
      flaky(1).pipe(singleton()).to('IPool'),
      over('IRepo').pipe(perRequest).to('IPage'),
    );
    const request = openRequest(app);

    expect(thrownBy(() => request.resolve('IPage'))).toBe(broken);
    expect(request.resolve('IPage')).toEqual({ below: { below: { attempts: 2 } } });
    expect(refusal(() => request.resolve('IHandler')).code).toBe('AMBIT_CAPTIVE_DEPENDENCY');
  });

  it.each([['a string'], [undefined], [null], [42]])('may throw what is no error: %o', (thrown) => {
    let attempts = 0;
    const make = () => {
      if (++attempts === 1) throw thrown;
      return 'made';
    };
    const app = openApplication(Registration.fromFactory(make).pipe(singleton()).to('IPool'));

    let caught: unknown = 'nothing was thrown';
    try {
      app.resolve('IPool');
    } catch (error) {
      caught = error;
    }
    expect(caught).toBe(thrown);
    expect(app.resolve('IPool')).toBe('made');
  });

  it('fails a collection as a whole, and the members made stay', () => {
    const app = openApplication(
      Registration.fromFactory(() => ({}))
        .pipe(singleton())
        .to('IHook'),
      flaky(1).pipe(singleton()).to('IHook'),
    );
    expect(thrownBy(() => app.resolveAll('IHook'))).toBe(broken);
    const [first, second] = app.resolveAll('IHook');

    expect(second).toEqual({ attempts: 2 });
    expect(app.resolveAll('IHook')[0]).toBe(first);
  });

  it('is no reason to dispose anything but what was made', async () => {
    const disposed: string[] = [];
    const disposing = (name: string) =>
      Registration.fromFactory(() => ({ dispose: () => disposed.push(name) })).pipe(singleton());
    class Users {
      constructor(@inject('IPool') readonly pool: unknown) {
        throw broken;
      }
      dispose() {
        disposed.push('users');
      }
    }
    const app = openApplication(
      disposing('pool').to('IPool'),
      Registration.fromClass(Users).pipe(singleton()).to('IUsers'),
    );
    expect(thrownBy(() => app.resolve('IUsers'))).toBe(broken);
    expect(thrownBy(() => app.resolve('IUsers'))).toBe(broken);
    await app.dispose();

    expect(disposed).toEqual(['pool']);
  });

  it('in one request fails no other', () => {
    const app = openApplication(flaky(1).pipe(singleton(), perRequest).to('IAudit'));
    const [one, other] = [openRequest(app), openRequest(app)];

    expect(thrownBy(() => one.resolve('IAudit'))).toBe(broken);
    expect(other.resolve('IAudit')).toEqual({ attempts: 2 });
    expect(one.resolve('IAudit')).toEqual({ attempts: 3 });
  });
});

it('an instance that does not let anybody look at it is kept, and has nothing to dispose', async () => {
  const hidden = new Proxy(
    {},
    {
      get: () => {
        throw broken;
      },
    },
  );
  const app = openApplication(
    Registration.fromFactory(() => hidden)
      .pipe(singleton())
      .to('IHidden'),
  );

  expect(app.resolve('IHidden') === hidden).toBe(true);
  expect(app.resolve('IHidden') === hidden).toBe(true);
  await app.dispose();
});
