import { expect } from 'vitest';
import type { IDatabasePool } from '../../src/index.js';
import type { FakePool, SimulatedClock } from '../../src/testing/index.js';
import { TinyContainer } from './container.js';

/** A request scope, as a host would open it, under an application that has the pool. */
export function requestScope(pool: IDatabasePool, { defers = true } = {}): TinyContainer {
  const app = new TinyContainer({ defers });
  app.register('IDatabasePool', () => pool);
  return app.createScope({ tags: ['request'] });
}

/** The transaction scopes that are open anywhere in the application of `scope`. */
export function openTransactionScopes(scope: TinyContainer): number {
  return [...scope.open].filter(({ tags }) => tags.includes('transaction')).length;
}

/** Plays until nothing is left to happen, and gives what the promise came to. */
export async function played<T>(clock: SimulatedClock, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  await clock.run();
  return promise;
}

/** Every connection was released, no rule was broken, and no transaction scope is open. */
export function nothingIsLeft(pool: FakePool, request: TinyContainer, violations: readonly string[] = []): void {
  expect([pool.out, pool.size.waiting, openTransactionScopes(request)]).toEqual([0, 0, 0]);
  expect([...pool.violations, ...violations]).toEqual([]);
}
