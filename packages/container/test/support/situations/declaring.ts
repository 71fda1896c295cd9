import {
  Container,
  hasTag,
  lazy,
  lifetimes,
  onDispose,
  onStart,
  Registration,
  scope,
  singleton,
  type Binding,
  type Key,
} from '../../../src/index.js';
import { override, verify } from '../../../src/tools.js';
import { asking, request } from '../asking.js';
import { openApplication, perRequest, perTransaction } from '../scopes.js';

class Session {
  dispose() {}
}

const single = singleton();
const { value, feature, build } = lifetimes('application');
const { of, build: buildAll } = lifetimes('application', 'request', 'transaction');
class Repository {
  readonly db: Session;
  constructor(db: Session) {
    this.db = db;
  }
}
const halfRegistered = buildAll({
  db: [of('request', Session), of('transaction', Session)],
  IUsers: of('request', Repository, ['db']),
});
const nothing = undefined as unknown as Key;
const doNothing = () => undefined;

/** What is refused before anything is resolved. */
export const declaring = {
  AMBIT_BAD_REGISTRATION: {
    'a registration without .to(key)': () => openApplication(asking() as never),
    'nothing in place of a registration': () => openApplication(undefined as never),
    'what is not an entry of a graph': () => build({ IClock: 1 as never }),
    'a lifetime that is there twice': () => lifetimes('application', 'application'),
    'a lifetime that does not exist': () => lifetimes('application').make('request' as 'application', doNothing),
    'nothing as a key': () => asking().to(nothing),
    'nothing as a key in register': () => openApplication().register(nothing, doNothing),
    'an instance in place of a class': () => Registration.fromClass(new (class Users {})() as never),
    'a value in place of a factory': () => Registration.fromFactory(8080 as never),
    'a value in place of a factory in register': () => openApplication().register('IPort', 8080 as never),
    'onDispose on what is not kept': () => asking().pipe(onDispose(doNothing)).to('IUsers'),
    'onStart on a value': () => Registration.fromValue(8080).pipe(single, onStart(doNothing)).to('IPort'),
    'onDispose on an alias': () => Registration.alias('IPool').pipe(single, onDispose(doNothing)).to('IDatabasePool'),
    'a key of two features': () => {
      const users = feature('users', { IClock: value(1) });
      const orders = feature('orders', { IClock: value(2) as never });
      return verifyOne(...build(users, orders).registrations);
    },
  },
  AMBIT_OPTION: {
    'a tag in place of a list': () => openApplication().createScope({ tags: 'request' as never }),
    'a tag that is no string': () => new Container({ tags: ['application', 7] as never }),
  },
  AMBIT_UNREACHABLE: {
    'a tag that no declared scope has': () =>
      verifyOne(
        asking()
          .pipe(scope(hasTag('requst')))
          .to('IUserRepository'),
      ),
    'a predicate that asks for no tag': () =>
      verifyOne(
        asking()
          .pipe(scope(() => false))
          .to('IUserRepository'),
      ),
  },
  AMBIT_UNDISPOSED: {
    'a class with a disposer, with a predicate and without singleton()': () =>
      verifyOne(Registration.fromClass(Session).pipe(perRequest).to('ISession')),
  },
  AMBIT_SPLIT_KEY: {
    'a service of the request, whose dependency the transaction registers again': () =>
      verifyOne(
        asking('db').pipe(single, perRequest).to('IUsers'),
        asking().pipe(single, perRequest).to('db'),
        asking().pipe(single, perTransaction).to('db'),
      ),
    'the same in a graph': () => verifyOne(...halfRegistered.registrations),
  },
  AMBIT_LATE_OVERRIDE: {
    'the instance was made before': () => {
      const app = openApplication(asking().pipe(single).to('IMailer'));
      app.resolve('IMailer');
      override(app, Registration.fromValue('fake').to('IMailer'));
    },
    'a singleton that has it was made before': () => {
      const app = openApplication(asking('ISender').pipe(single).to('ISignup'), asking('IMailer').to('ISender'));
      app.addRegistration(Registration.fromValue('real').to('IMailer')).resolve('ISignup');
      override(app, Registration.fromValue('fake').to('IMailer'));
    },
  },
  AMBIT_INVALID: {
    'one problem': () => verify(openApplication(asking('IClock').to('ITimer'))),
    'problems of every kind': () =>
      verify(
        openApplication(
          asking('IRequestContext').pipe(single).to('ICache'),
          asking('ICache').pipe(single).to('IPrices'),
          asking().pipe(single, perRequest).to('IRequestContext'),
          asking('ISession', lazy('IClock')).pipe(single, perRequest).to('IAuditLogger'),
          asking('IDatabasePol').to('IUserRepository'),
          asking().to('IDatabasePool'),
          Registration.alias('IRight').to('ILeft'),
          asking('ILeft').to('IRight'),
          Registration.fromClass(Keyless as never).to('IKeyless'),
          asking()
            .pipe(scope(hasTag('transacton')))
            .to('IUnitOfWork'),
        ),
        request,
      ),
  },
};

class Keyless {
  constructor(readonly pageSize: number) {}
}

/** The one problem that verify finds in it. */
function verifyOne(...registrations: readonly Binding[]): void {
  try {
    verify(openApplication(...registrations), request);
  } catch (error) {
    throw (error as { problems: unknown[] }).problems[0];
  }
}
