import { expect, it } from 'vitest';
import { Registration, singleton } from '../src/index.js';
import { openApplication } from './support/scopes.js';

const strict = () =>
  new Proxy(
    { name: 'strict' },
    {
      get(target, name, receiver): unknown {
        if (!(name in target)) throw new Error(`no property ${String(name)}`);
        return Reflect.get(target, name, receiver);
      },
    },
  );

// Looking for a disposer reads properties that such a proxy refuses.
it.each([
  ['fromFactory', Registration.fromFactory(strict)],
  ['fromValue', Registration.fromValue(strict())],
])('an object that throws for unknown properties can be a singleton: %s', (_, registration) => {
  const app = openApplication(registration.pipe(singleton()).to('IStrict'));

  expect(app.resolve('IStrict')).toHaveProperty('name', 'strict');
});
