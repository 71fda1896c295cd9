import type { IDatabasePool } from '../../src/index.js';
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
