import { describe, expect, it } from 'vitest';
import { hasTag, inject, lazy, Registration, scope, singleton } from '../src/index.js';
import { override } from '../src/tools.js';
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

  it('is taken back by `using`, and the instance from before is there again', () => {
    const app = openApplication(real.to('IMailer'));
    const request = openRequest(app);
    const before = request.resolve('IMailer');
    {
      using _ = override(app, fake.to('IMailer'));
      expect(request.resolve('IMailer')).toBeInstanceOf(FakeMailer);
    }

    expect(request.resolve('IMailer')).toBe(before);
    expect(app.resolve('IMailer')).toBe(before);
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

  it('may be of several keys, of unknown keys, and hold in some scopes only', () => {
    const app = openApplication(real.to('IMailer'));
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

  it('leaves instances made before as they are', () => {
    const app = openApplication(real.to('IMailer'), Registration.fromClass(Signup).pipe(singleton()).to('ISignup'));
    const signup = app.resolve<Signup>('ISignup');
    using _ = override(app, fake.to('IMailer'));

    expect(app.resolve('ISignup')).toBe(signup);
    expect(signup.mailer).toBeInstanceOf(Mailer);
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
    const app = openApplication();
    const restore = override(app, fake.to('IMailer'));
    app.addRegistration(Registration.fromValue('added').to('IAdded'), Registration.fromValue('real').to('IMailer'));
    restore[Symbol.dispose]();

    expect([app.resolve('IAdded'), app.resolve('IMailer')]).toEqual(['added', 'real']);
  });

  it('is checked like any registration', () => {
    const app = openApplication(real.to('IMailer'));
    using _ = override(app, Registration.fromFactory((none) => none, ['IMissing']).to('IMailer'));

    expect(refusal(() => app.resolve('IMailer'))).toMatchObject({ path: ['IMailer', 'IMissing'] });
  });
});
