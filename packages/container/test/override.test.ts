import { describe, expect, it } from 'vitest';
import {
  all,
  inject,
  lazy,
  lifetimes,
  optional,
  Registration,
  singleton,
  type Binding,
  type Dependency,
} from '../src/index.js';
import { override } from '../src/tools.js';
import { asking } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

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
  it('is all there is of its key, for resolveAll, aliases and lazy too', () => {
    class Later {
      constructor(@inject(lazy('IMailer')) readonly mailer: () => unknown) {}
    }
    const app = openApplication(real.to('IMailer'), real.to('IMailer'), Registration.alias('IMailer').to('IAlias'));
    const later = app.resolve(Later);
    using _ = override(app, Registration.fromValue('fake').to('IMailer'));

    expect([app.resolveAll('IMailer'), app.resolve('IAlias'), later.mailer()]).toEqual([['fake'], 'fake', 'fake']);
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

  it('is in time after the request, and for what is replaced together', async () => {
    const app = openApplication(real.pipe(perRequest).to('IMailer'), signup.pipe(perRequest).to('ISignup'));
    const request = openRequest(app);
    request.resolve('ISignup');
    await request.dispose();
    using _ = override(app, value, signup.pipe(perRequest).to('ISignup'));

    expect(openRequest(app).resolve<Signup>('ISignup').mailer).toBe('fake');
  });
});

function through(dependency: Dependency): Binding[] {
  return [
    real.to('IMailer'),
    Registration.fromClass(Signup).to('ISignup'),
    asking(dependency).pipe(singleton()).to('ITop'),
  ];
}
