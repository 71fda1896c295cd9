import { describe, expect, it } from 'vitest';
import { inject, Registration } from '../src/index.js';
import { refusal } from './support/refusal.js';
import { openApplication } from './support/scopes.js';

const letters = ['a', 'b', 'c', 'd'].map((letter) => Registration.fromValue(letter).to(letter));

describe('a subclass', () => {
  class Base {
    constructor(
      @inject('a') readonly one: unknown,
      @inject('b') readonly two: unknown,
    ) {}
  }
  const app = openApplication(...letters);

  it('without a constructor gets what its parent asks for, or its grandparent', () => {
    class Sub extends Base {}
    class SubSub extends Sub {}

    expect(app.resolve(Sub)).toEqual(Object.assign(Object.create(Sub.prototype), { one: 'a', two: 'b' }));
    expect(app.resolve(SubSub)).toMatchObject({ one: 'a', two: 'b' });
    expect(app.resolve(SubSub)).toBeInstanceOf(SubSub);
  });

  it('with a decorated constructor of its own gets what that asks for, and leaves its parent as it is', () => {
    class Sub extends Base {
      constructor(@inject('c') readonly own: unknown) {
        super('fixed', own);
      }
    }
    expect(app.resolve(Sub)).toMatchObject({ own: 'c', one: 'fixed', two: 'c' });
    expect(app.resolve(Base)).toMatchObject({ one: 'a', two: 'b' });
  });

  it('with a constructor of its own does not fill a parameter with its parent’s service', () => {
    class Sub extends Base {
      constructor(readonly own: unknown) {
        super('fixed', 'fixed');
      }
    }
    const error = refusal(() => app.resolve(Sub));

    expect(error.code).toBe('AMBIT_NO_KEY_FOR_PARAMETER');
    expect(error.message).toContain('Parameter 0 of class Sub');
  });
});
