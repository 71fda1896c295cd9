import { describe, expect, it } from 'vitest';
import { Container, onDispose, Registration, singleton } from '../src/index.js';
import { asking } from './support/asking.js';
import { refusal } from './support/refusal.js';
import { openApplication } from './support/scopes.js';

describe('what cannot be a registration', () => {
  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a number', 7],
    ['an object', {}],
    ['an object without a prototype', Object.create(null)],
  ])('is refused at once: %s as a key', (_, wrong) => {
    const key = wrong as string;

    expect(refusal(() => asking().to(key)).code).toBe('AMBIT_BAD_REGISTRATION');
    expect(refusal(() => openApplication().register(key, () => 1)).code).toBe('AMBIT_BAD_REGISTRATION');
    expect(refusal(() => openApplication().resolve(key)).code).toMatch(/^AMBIT_/);
  });

  it.each([
    ['no key', asking()],
    ['undefined', undefined],
    ['null', null],
    ['a class', Container],
    ['a list', [asking().to('A')]],
    ['a string', 'A'],
    ['a number', 7],
    ['a key alone', { key: 'A' }],
  ])('is refused at once: %s in place of a registration', (_, wrong) => {
    expect(refusal(() => openApplication().addRegistration(wrong as never)).code).toBe('AMBIT_BAD_REGISTRATION');
  });

  it.each([
    ['an object as a class', () => Registration.fromClass({} as never)],
    ['an arrow function as a class', () => Registration.fromClass((() => 1) as never)],
    ['a value as a factory', () => Registration.fromFactory(1 as never)],
    ['a value in register', () => openApplication().register('A', 1 as never)],
    [
      'onDispose on a value',
      () =>
        Registration.fromValue(1)
          .pipe(
            singleton(),
            onDispose(() => {}),
          )
          .to('A'),
    ],
  ])('is refused at once: %s', (_, register) => {
    expect(refusal(register).code).toBe('AMBIT_BAD_REGISTRATION');
  });

  it('is refused by name: a function as the key of has', () => {
    const { message, code } = refusal(() => openApplication().has((() => 1) as never));
    expect(code).toBe('AMBIT_BAD_REGISTRATION');
    expect(message).not.toContain('undefined');
  });

  it.each([['request'], [['request', 1]], [['request', Symbol('tag')]], [{}], [7]])(
    'is refused at once: the tags %j',
    (tags) => {
      expect(refusal(() => openApplication().createScope({ tags: tags as never })).code).toBe('AMBIT_OPTION');
      expect(refusal(() => new Container({ tags: tags as never })).code).toBe('AMBIT_OPTION');
    },
  );
});
