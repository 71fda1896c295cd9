import { describe, expect, it } from 'vitest';
import { inject, Registration, singleton, type Container, type IContainer } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest, perRequest } from './support/scopes.js';

/** A registration through which a constructor is handed the scope. */
const itself = Registration.fromFactory((scope: IContainer) => scope as Container);

const made = (key: string) => Registration.fromFactory(() => ({ key }));

describe('a constructor that resolves', () => {
  it('and catches the refusal is made, and nothing looks like a cycle afterwards', () => {
    const hopeful = Registration.fromFactory((scope) => {
      const refused = ['IUsers', 'IMissing'].map((key) => refusal(() => scope.resolve(key)).code);
      return { refused };
    });
    const app = openApplication(hopeful.pipe(singleton()).to('IUsers'), made('pool').pipe(singleton()).to('IPool'));

    expect(app.resolve('IUsers')).toEqual({ refused: ['AMBIT_CYCLE', 'AMBIT_NOT_REGISTERED'] });
    expect(app.resolve('IUsers')).toBe(app.resolve('IUsers'));
    expect(app.resolve('IPool')).toEqual({ key: 'pool' });
  });

  it('a request’s own singleton a second time, through an inner request, makes one for that request', () => {
    let depth = 0;
    const nested = Registration.fromFactory((scope): { inner: unknown } => {
      const inner = ++depth < 3 ? openRequest(scope as Container).resolve('IAudit') : undefined;
      return { inner };
    });
    const request = openRequest(openApplication(nested.pipe(singleton(), perRequest).to('IAudit')));

    expect(request.resolve('IAudit')).toEqual({ inner: { inner: { inner: undefined } } });
    expect(request.resolve('IAudit')).toBe(request.resolve('IAudit'));
    expect(depth).toBe(3);
  });
});

describe('a constructor that changes its scope', () => {
  it('by registering is kept, and so is what it registered', () => {
    class Users {
      readonly pool: unknown;
      constructor(@inject('IScope') scope: Container) {
        scope.addRegistration(made('late').pipe(singleton()).to('ILate'));
        scope.register('IDirect', () => 'directly');
        this.pool = scope.resolve('ILate');
      }
    }
    const app = openApplication(
      itself.to('IScope'),
      made('early').pipe(singleton()).to('IEarly'),
      Registration.fromClass(Users).pipe(singleton()).to('IUsers'),
    );
    const request = openRequest(app);
    const users = request.resolve<Users>('IUsers');

    expect(users.pool).toEqual({ key: 'late' });
    expect(request.resolve('IUsers')).toBe(users);
    expect(request.resolve('ILate')).toBe(users.pool);
    expect(app.resolve('IDirect')).toBe('directly');
    expect(app.resolve('IEarly')).toEqual({ key: 'early' });
  });

  it('by registering its own key again is made once, and the new registration results next', () => {
    const first = Registration.fromFactory((scope) => {
      (scope as Container).addRegistration(made('second').pipe(singleton()).to('IUsers'));
      return { key: 'first', next: scope.resolve('IUsers') };
    });
    const app = openApplication(first.pipe(singleton()).to('IUsers'));

    expect(app.resolve('IUsers')).toEqual({ key: 'first', next: { key: 'second' } });
    expect(app.resolve('IUsers')).toEqual({ key: 'second' });
  });

  it('between two of its dependencies leaves each where it belongs', () => {
    const changing = Registration.fromFactory((scope) => {
      (scope as Container).addRegistration(made('extra').pipe(singleton()).to('IExtra'));
      return scope.resolve('IExtra');
    });
    const app = openApplication(
      made('before').pipe(singleton()).to('IBefore'),
      changing.pipe(singleton()).to('IChanging'),
      made('after').pipe(singleton()).to('IAfter'),
      Registration.fromFactory((...all: unknown[]) => all, ['IBefore', 'IChanging', 'IAfter']).to('IAll'),
    );
    const keys = ['IBefore', 'IExtra', 'IAfter'];

    expect(app.resolve('IAll')).toEqual(['before', 'extra', 'after'].map((key) => ({ key })));
    expect(app.resolve('IAll')).toEqual(keys.map((key) => app.resolve(key)));
    expect(new Set(keys.map((key) => openRequest(app).resolve(key))).size).toBe(3);
  });

  it('by adding a class to the scope leaves the keys registered there for the next dependency', () => {
    const app = openApplication(
      Registration.fromFactory((scope) => {
        (scope as Container).addRegistration(
          Registration.fromFactory(() => ({}))
            .pipe(singleton())
            .to('IAdded'),
        );
        return 'adding';
      }).to('IAdding'),
      Registration.fromFactory((...needs: unknown[]) => needs, ['IAdding', 'ISession']).to('IRepo'),
    );
    const request = openRequest(app).register('ISession', () => 'open');

    expect(request.resolve('IRepo')).toEqual(['adding', 'open']);
    expect(request.resolve('IAdded')).toBe(request.resolve('IAdded'));
  });
});
