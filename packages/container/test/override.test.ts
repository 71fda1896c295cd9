import { describe, expect, it } from 'vitest';
import {
  all,
  hasTag,
  inject,
  lazy,
  lifetimes,
  optional,
  Registration,
  scope,
  singleton,
  type Binding,
  type Container,
  type Dependency,
} from '../src/index.js';
import { override } from '../src/tools.js';
import { asking } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, openTransaction, perRequest } from './support/scopes.js';

class Mailer {}
class FakeMailer {
  disposed = 0;
  dispose() {
    this.disposed++;
  }
}
class Signup {
  constructor(@inject('IMailer') readonly mailer: unknown) {}
}
const real = Registration.fromClass(Mailer).pipe(singleton());
const fake = Registration.fromClass(FakeMailer).pipe(singleton());

describe('an override', () => {
  it('replaces one key and rebuilds nothing else', () => {
    const app = openApplication(
      real.to('IMailer'),
      Registration.fromClass(Signup).to('ISignup'),
      real.to('IOther'),
      real.pipe(perRequest).to('IRequestThing'),
    );
    const request = openRequest(app);
    const [other, thing] = [app.resolve('IOther'), request.resolve('IRequestThing')];
    using _ = override(app, fake.to('IMailer'));

    expect(request.resolve<Signup>('ISignup').mailer).toBeInstanceOf(FakeMailer);
    expect(request.resolve<Signup>('ISignup').mailer).toBe(app.resolve('IMailer'));
    expect(app.resolve('IOther')).toBe(other);
    expect(request.resolve('IRequestThing')).toBe(thing);
  });

  it('is taken back by `using`, and the real service is there again', () => {
    const app = openApplication(real.to('IMailer'));
    const request = openRequest(app);
    {
      using _ = override(app, fake.to('IMailer'));
      expect(request.resolve('IMailer')).toBeInstanceOf(FakeMailer);
    }

    expect(request.resolve('IMailer')).toBeInstanceOf(Mailer);
    expect(app.resolve('IMailer')).toBe(request.resolve('IMailer'));
  });

  it('wins for scopes open already, for those below them and for those opened while it lasts', () => {
    const app = openApplication(real.to('IMailer'));
    const request = openRequest(app);
    const transaction = openTransaction(request);
    const restore = override(app, Registration.fromValue('fake').to('IMailer'));
    const scopes = [app, request, transaction, openTransaction(request), openRequest(app)];

    expect(scopes.map((each) => each.resolve('IMailer'))).toEqual(Array(5).fill('fake'));
    restore[Symbol.dispose]();
    expect(new Set(scopes.map((each) => each.resolve('IMailer')))).toEqual(new Set([expect.any(Mailer)]));
    expect(openRequest(app).resolve('IMailer')).toBe(app.resolve('IMailer'));
  });

  it('wins over nearer registrations, by predicate, on a request and directly, before and after', () => {
    const app = openApplication(real.pipe(perRequest).to('IMailer'));
    const before = openRequest(app).addRegistration(Registration.fromValue('own').to('IMailer'));
    const directly = openTransaction(before).register('IMailer', () => 'directly');
    const restore = override(app, Registration.fromValue('fake').to('IMailer'));
    const after = openRequest(app).addRegistration(Registration.fromValue('own, later').to('IMailer'));
    after.register('IMailer', () => 'directly, later');
    app.addRegistration(real.pipe(perRequest).to('IMailer'));

    expect([before, directly, after, openRequest(app)].map((each) => each.resolve('IMailer'))).toEqual(
      Array(4).fill('fake'),
    );
    restore[Symbol.dispose]();
    expect([before, directly, after].map((each) => each.resolve('IMailer'))).toEqual([
      'own',
      'directly',
      'directly, later',
    ]);
  });

  it('on one request concerns that request and its transactions only', () => {
    const app = openApplication(real.to('IMailer'));
    const request = openRequest(app);
    using _ = override(request, Registration.fromValue('fake').to('IMailer'));

    expect([request, openTransaction(request)].map((each) => each.resolve('IMailer'))).toEqual(['fake', 'fake']);
    expect([app, openRequest(app)].map((each) => each.resolve('IMailer'))).toEqual(Array(2).fill(expect.any(Mailer)));
  });

  it('may be of several keys, of one that only a scope below has, and hold in some scopes only', () => {
    const app = openApplication(real.to('IMailer'), Registration.fromClass(Signup, [optional('INew')]).to('ISignup'));
    const request = openRequest(app);
    const restore = override(
      app,
      Registration.fromValue('fake')
        .pipe(scope(hasTag('request')))
        .to('IMailer'),
      Registration.fromValue('new').to('INew'),
    );

    expect([app.resolve('IMailer'), request.resolve('IMailer')]).toEqual([expect.any(Mailer), 'fake']);
    expect(request.resolve('INew')).toBe('new');
    restore[Symbol.dispose]();
    expect(request.resolve('IMailer')).toBe(app.resolve('IMailer'));
    expect(refusal(() => request.resolve('INew')).code).toBe('AMBIT_NOT_REGISTERED');
  });

  it('may be overridden: the last one wins, and any may be taken back first', () => {
    const app = openApplication(Registration.fromValue('real').to('IMailer'));
    const first = override(app, Registration.fromValue('first').to('IMailer'));
    const second = override(app, Registration.fromValue('second').to('IMailer'));
    const third = override(app, Registration.fromValue('third').to('IMailer'));

    const results = [app.resolve('IMailer')];
    for (const restore of [third, first, second]) {
      restore[Symbol.dispose]();
      results.push(app.resolve('IMailer'));
    }
    expect(results).toEqual(['third', 'second', 'second', 'real']);
  });

  it('is all there is of its key, for resolveAll, aliases and lazy too', () => {
    class Later {
      constructor(@inject(lazy('IMailer')) readonly mailer: () => unknown) {}
    }
    const app = openApplication(real.to('IMailer'), real.to('IMailer'), Registration.alias('IMailer').to('IAlias'));
    const later = app.resolve(Later);
    using _ = override(app, Registration.fromValue('fake').to('IMailer'));

    expect([app.resolveAll('IMailer'), app.resolve('IAlias'), later.mailer()]).toEqual([['fake'], 'fake', 'fake']);
  });

  it('has its instances disposed with the scope, once, also after it was taken back', async () => {
    const app = openApplication(real.to('IMailer'));
    const restore = override(app, fake.to('IMailer'));
    const made = app.resolve<FakeMailer>('IMailer');
    restore[Symbol.dispose]();
    expect(made.disposed).toBe(0);
    await app.dispose();

    expect(made.disposed).toBe(1);
  });

  it('may be taken back twice, and after the application disposed', async () => {
    const app = openApplication(Registration.fromValue('real').to('IMailer'));
    const [one, other] = [1, 2].map((n) => override(app, Registration.fromValue(`fake ${n}`).to('IMailer')));
    other![Symbol.dispose]();
    other![Symbol.dispose]();
    expect(app.resolve('IMailer')).toBe('fake 1');
    await app.dispose();

    expect(() => one![Symbol.dispose]()).not.toThrow();
    expect(refusal(() => override(app, fake.to('IMailer'))).code).toBe('AMBIT_DISPOSED');
  });

  it('keeps what is added while it lasts', () => {
    const app = openApplication(real.to('IMailer'));
    const restore = override(app, fake.to('IMailer'));
    app.addRegistration(Registration.fromValue('added').to('IAdded'), Registration.fromValue('later').to('IMailer'));
    restore[Symbol.dispose]();

    expect([app.resolve('IAdded'), app.resolve('IMailer')]).toEqual(['added', 'later']);
  });

  it('is checked like any registration', () => {
    const app = openApplication(real.to('IMailer'));
    using _ = override(app, Registration.fromFactory((none) => none, ['IMissing']).to('IMailer'));

    expect(refusal(() => app.resolve('IMailer'))).toMatchObject({ path: ['IMailer', 'IMissing'] });
  });
});

describe('an override of a key that nothing registers', () => {
  const value = Registration.fromValue('fake');

  it('is refused, with the key that is meant', () => {
    const app = openApplication(real.to('IMailer'));

    expect(refusal(() => override(app, value.to('IMailr')))).toMatchObject({
      code: 'AMBIT_NOT_REGISTERED',
      key: 'IMailr',
      hint: "did you mean 'IMailer'?",
    });
    expect(app.has('IMailr')).toBe(false);
  });

  it('is refused, and says how to add one that is new', () => {
    const error = refusal(() => override(openApplication(real.to('IMailer')), value.to('IClock')));

    expect(error.message).toContain("Nothing is registered under 'IClock', so there is nothing to override");
    expect(error.hint).toContain('addRegistration()');
  });

  it.each<[string, () => Container]>([
    ['requests have it by their tag', () => openApplication(real.pipe(perRequest).to('IMailer'))],
    ['a service depends on it', () => openApplication(Registration.fromClass(Signup).to('ISignup'))],
    ['a service asks for it later', () => openApplication(asking(lazy('IMailer')).to('ISignup'))],
    ['a scope around it has it', () => openRequest(openApplication(real.to('IMailer')))],
    ['it was registered directly', () => openRequest(openApplication()).register('IMailer', () => 'own')],
    [
      'it was registered on a scope below',
      () => {
        const app = openApplication();
        openRequest(app).register('IMailer', () => 'own');
        return app;
      },
    ],
    [
      'it is overridden already',
      () => {
        const app = openApplication(real.to('IMailer'));
        override(app, value.to('IMailer'));
        return app;
      },
    ],
  ])('is no such thing where %s', (_, open) => {
    const at = open();
    using __ = override(at, value.to('IMailer'));

    expect(openRequest(at).resolve('IMailer')).toBe('fake');
  });

  it('is no such thing for a class, which needs no registration', () => {
    const app = openApplication();
    using _ = override(app, Registration.fromClass(FakeMailer).to(Mailer));

    expect(app.resolve(Mailer)).toBeInstanceOf(FakeMailer);
  });

  it('is no such thing for a key that a graph expects on each request', () => {
    const { registered, make, build } = lifetimes('application', 'request');
    const graph = build({ ISignal: registered('request').as<string>(), IOther: make('application', () => 1) });
    const app = openApplication(...graph.registrations);
    using _ = override(app, ...graph.replacing({ ISignal: make('request', () => 'fake') }));

    expect(
      openRequest(app)
        .register('ISignal', () => 'real')
        .resolve('ISignal'),
    ).toBe('fake');
  });
});

describe('an override that comes too late', () => {
  const value = Registration.fromValue('fake').to('IMailer');
  const signup = Registration.fromClass(Signup).pipe(singleton());

  it.each<[string, readonly string[], string, ...Binding[]]>([
    ['the instance', ['IMailer'], 'IMailer', real.to('IMailer')],
    ['a singleton that has it', ['ISignup', 'IMailer'], 'ISignup', real.to('IMailer'), signup.to('ISignup')],
    [
      'one that has a value',
      ['ISignup', 'IMailer'],
      'ISignup',
      Registration.fromValue(1).to('IMailer'),
      signup.to('ISignup'),
    ],
    ['one that has it through transients', ['ITop', 'ISignup', 'IMailer'], 'ITop', ...through('ISignup')],
    ['one that has all of them', ['ITop', 'ISignup', 'IMailer'], 'ITop', ...through(all('ISignup'))],
    ['one that has none so far', ['ITop', 'IMailer'], 'ITop', asking(optional('IMailer')).pipe(singleton()).to('ITop')],
  ])('is refused once this was made: %s', (_, path, made, ...registrations) => {
    const app = openApplication(...registrations);
    const before = app.resolve(made);
    const error = refusal(() => override(app, value));

    expect(error).toMatchObject({ code: 'AMBIT_LATE_OVERRIDE', key: 'IMailer', path, tags: [['application']] });
    expect(error.message).toContain('call override() before the first resolve() or start()');
    expect(app.resolve(made)).toBe(before);
  });

  it('is refused for what an open request has made', () => {
    const app = openApplication(real.pipe(perRequest).to('IMailer'));
    const request = openRequest(app);
    request.resolve('IMailer');

    expect(refusal(() => override(app, value)).tags).toEqual([['application'], ['request']]);
  });

  it('is refused for what was made under an override before', () => {
    const app = openApplication(real.to('IMailer'), signup.to('ISignup'));
    {
      using _ = override(app, value);
      app.resolve('ISignup');
    }

    expect(refusal(() => override(app, value)).path).toEqual(['ISignup', 'IMailer']);
  });

  it('is in time after the request, and for what is replaced together', async () => {
    const app = openApplication(real.pipe(perRequest).to('IMailer'), signup.pipe(perRequest).to('ISignup'));
    const request = openRequest(app);
    request.resolve('ISignup');
    await request.dispose();
    using _ = override(app, value, signup.pipe(perRequest).to('ISignup'));

    expect(openRequest(app).resolve<Signup>('ISignup').mailer).toBe('fake');
  });

  it('is in time for what resolves it later, and where it does not apply', () => {
    const app = openApplication(real.to('IMailer'), asking(lazy('IMailer')).pipe(singleton()).to('ILater'));
    const [later] = app.resolve<{ got: [() => unknown] }>('ILater').got;
    {
      using _ = override(app, value);
      expect(later()).toBe('fake');
    }
    expect(later()).toBeInstanceOf(Mailer);
    using _ = override(app, Registration.fromValue('fake').pipe(perRequest).to('IMailer'));

    expect([app.resolve('IMailer'), openRequest(app).resolve('IMailer')]).toEqual([expect.any(Mailer), 'fake']);
  });

  it('is in time on a request, whatever the application has', () => {
    const app = openApplication(real.to('IMailer'), signup.to('ISignup'));
    app.resolve('ISignup');
    const request = openRequest(app);
    using _ = override(request, value);

    expect([request.resolve('IMailer'), app.resolve('IMailer')]).toEqual(['fake', expect.any(Mailer)]);
  });
});

function through(dependency: Dependency): Binding[] {
  return [
    real.to('IMailer'),
    Registration.fromClass(Signup).to('ISignup'),
    asking(dependency).pipe(singleton()).to('ITop'),
  ];
}
