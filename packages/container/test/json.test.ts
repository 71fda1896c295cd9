import { expect, it } from 'vitest';
import { Registration, singleton } from '../src/index.js';
import { openApplication, openRequest } from './support/scopes.js';

it('JSON.stringify() of a scope says which scope it is, and nothing of its services', () => {
  const app = openApplication(
    Registration.fromFactory(() => ({ password: 'secret' }))
      .pipe(singleton())
      .to('IConfig'),
  );
  app.resolve('IConfig');

  expect(JSON.stringify({ scope: openRequest(app) })).toBe('{"scope":"Container [application] > [request]"}');
});
