import type { Container } from '@ambit/container';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAppContainer, readConfig } from '../src/index.js';

let container: Container;

beforeEach(() => {
  container = createAppContainer(readConfig({ DATA_DIR: ':memory:' }));
});

afterEach(() => container.dispose());

test('the application container has the tag application', () => {
  expect(container.tags).toEqual(['application']);
});

test.each(['IRequestContext', 'IAuditLogger', 'IUserRepository'] as const)(
  '%s is one for each request, and outside of a request there is none',
  async (key) => {
    await using one = container.createScope({ tags: ['request'] });
    await using other = container.createScope({ tags: ['request'] });
    expect(one.resolve(key)).toBe(one.resolve(key));
    expect(one.resolve(key)).not.toBe(other.resolve(key));
    expect(() => container.resolve(key)).toThrow('is registered, but not for this scope');
  },
);
