import { describe, expect, it } from 'vitest';
import { Container, inject, Registration, singleton, type AbstractClass, type Injector } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication, openRequest } from './support/scopes.js';

const letters = 'a b c d e f g h i j k l m n o p'.split(' ');
const alphabet = letters.map((letter) => Registration.fromValue(letter).to(letter));

describe('parameters', () => {
  it.each(letters.map((_, count) => [count]))('get their services in order: %i of them', (count) => {
    class Many {
      readonly got: unknown[];
      constructor(...got: unknown[]) {
        this.got = got;
      }
    }
    const keys = letters.slice(0, count);
    const app = openApplication(
      ...alphabet,
      Registration.fromClass(Many, keys).to('class'),
      Registration.fromClass(Many, keys).pipe(singleton()).to('singleton'),
      Registration.fromFactory((...got: unknown[]) => new Many(...got), keys).to('factory'),
    );

    for (const key of ['class', 'singleton', 'factory']) expect(app.resolve<Many>(key).got).toEqual(keys);
  });

  it('keep a default when they have no key, at the end or between others', () => {
    class Defaults {
      constructor(
        @inject('a') readonly a: unknown,
        readonly between = 'default',
        @inject('b') readonly b: unknown = 'unused',
        readonly last = 'last default',
      ) {}
    }
    expect(openApplication(...alphabet).resolve(Defaults)).toEqual(new Defaults('a', 'default', 'b', 'last default'));
  });

  it('without a key and without a default are refused, with class and position', () => {
    class Users {
      constructor(
        @inject('a') readonly a: unknown,
        readonly pool: unknown,
      ) {}
    }
    const app = openApplication(...alphabet, Registration.fromClass(Users).to('IUsers'));
    const error = refusal(() => app.resolve('IUsers'));

    expect(error).toMatchObject({ code: 'AMBIT_NO_KEY_FOR_PARAMETER', key: 'IUsers', path: ['IUsers'] });
    expect(error.message).toContain('Parameter 1 of class Users');
    expect(refusal(() => app.resolve(Users)).code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');
  });

  it('are named by the list where there is one, whatever the decorators say', () => {
    class Users {
      constructor(@inject('a') readonly pool: unknown) {}
    }
    const app = openApplication(...alphabet, Registration.fromClass(Users, ['b']).to('IUsers'));
    expect(app.resolve<Users>('IUsers').pool).toBe('b');
  });

  it('are named by another injector, if the container has one', () => {
    class Users {
      constructor(readonly pool: unknown) {}
    }
    const injector: Injector = { dependencies: (target: AbstractClass) => (target === Users ? ['c'] : []) };
    const app = new Container(injector).addRegistration(...alphabet);

    expect(app.resolve(Users).pool).toBe('c');
    expect(app.createScope({ tags: ['request'] }).resolve(Users).pool).toBe('c');
  });
});

describe('a class given as a value', () => {
  it('is handed out as it is, not made', () => {
    const app = openApplication(Registration.fromValue(Date).to('IClock'));
    expect(openRequest(app).resolve('IClock')).toBe(Date);
  });
});

describe('a class that was never registered', () => {
  let disposed = 0;
  class Handler {
    constructor(@inject('a') readonly a: unknown) {}
    dispose() {
      disposed++;
    }
  }

  it('is made again at each resolve, with its dependencies, and never disposed', async () => {
    const app = openApplication(...alphabet);
    const request = openRequest(app);
    const made = [app, app, request, request].map((scope) => scope.resolve(Handler));
    await app.dispose();

    expect(new Set(made).size).toBe(4);
    expect(made.map(({ a }) => a)).toEqual(['a', 'a', 'a', 'a']);
    expect(disposed).toBe(0);
  });

  it('is what its registration says from then on, once there is one', () => {
    const app = openApplication(...alphabet);
    const request = openRequest(app);
    request.resolve(Handler);
    app.addRegistration(Registration.fromClass(Handler).pipe(singleton()).to(Handler));

    expect(request.resolve(Handler)).toBe(app.resolve(Handler));
  });
});
