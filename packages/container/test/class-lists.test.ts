import { transform } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { inject, injectable, optional, Registration, type Class, type Dependency } from '../src/index.js';
import { verify } from '../src/tools.js';
import { openApplication } from './support/scopes.js';

const letters = ['a', 'b', 'c'].map((letter) => Registration.fromValue(letter).to(letter));

type PairClass = new (one: unknown, two?: unknown) => { readonly pair: unknown[] };

/** The same class, with its keys listed in each of the ways in which a class can list them. */
function classesThatNeed(...keys: Dependency[]): Record<'`static inject`' | '@injectable', PairClass> {
  const fresh = (): PairClass =>
    class Pair {
      readonly pair: unknown[];
      constructor(one: unknown, two?: unknown) {
        this.pair = [one, two];
      }
    };
  const decorated = fresh();
  injectable(...keys)(decorated as never);
  return {
    '`static inject`': Object.assign(fresh(), { inject: keys }),
    '@injectable': decorated,
  };
}

describe.each(['`static inject`', '@injectable'] as const)('a class that lists its keys with %s', (way) => {
  const app = openApplication(...letters);

  it('receives the services in the order of the list', () => {
    const { [way]: Pair } = classesThatNeed('a', 'b');

    expect(app.resolve(Pair).pair).toEqual(['a', 'b']);
  });

  it('receives those of the registration where that has a list, too', () => {
    const { [way]: Pair } = classesThatNeed('a', 'b');
    app.addRegistration(Registration.fromClass(Pair, ['c', 'a']).to('other'));

    expect(app.resolve('other')).toMatchObject({ pair: ['c', 'a'] });
  });

  it('passes its list on to a subclass without a constructor of its own', () => {
    const { [way]: Pair } = classesThatNeed('a', optional('nothing'));
    class Sub extends Pair {}

    expect(app.resolve(Sub).pair).toEqual(['a', undefined]);
  });

  it('is checked by verify()', () => {
    const { [way]: Pair } = classesThatNeed('misspelt');
    const other = openApplication(Registration.fromClass(Pair).to('pair'));

    expect(() => verify(other)).toThrow("'misspelt'");
  });
});

describe('a class', () => {
  const app = openApplication(...letters);

  it('may have something else that is called `inject`', () => {
    class OfAnotherLibrary {
      static inject(): string {
        return 'not a list';
      }
    }
    expect(app.resolve(OfAnotherLibrary)).toBeInstanceOf(OfAnotherLibrary);
  });

  it('needs what its decorators say where it has a list as well', () => {
    class Both {
      static inject = ['b'];
      constructor(@inject('a') readonly one: unknown) {}
    }
    expect(app.resolve(Both).one).toBe('a');
  });

  it('does not show what decorators leave on it', () => {
    @injectable('a')
    class Shown {
      constructor(readonly one: unknown) {}
    }
    expect(Object.keys(Shown)).toEqual([]);
  });

  it('can be decorated by what compiles decorators of ECMAScript', async () => {
    const source = `
      @injectable('a', 'b')
      class Standard {
        constructor(one, two) { this.pair = [one, two]; }
      }
      return Standard;`;
    const { code } = await transform(`export const make = (injectable) => {${source}}`, { target: 'es2022' });
    const url = `data:text/javascript,${encodeURIComponent(code)}`;
    const { make } = (await import(url)) as { make: (decorator: unknown) => Class<{ pair: unknown[] }> };

    expect(app.resolve(make(injectable)).pair).toEqual(['a', 'b']);
  });
});
