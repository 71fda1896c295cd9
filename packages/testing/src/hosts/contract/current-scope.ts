import { currentScope, hasTag, Registration, scope, singleton } from '@ambit/container';
import { describe, expect } from 'vitest';
import type { StageTest } from '../stage-test.js';

/** With `current: true`, what works in a transaction is part of it without a word about scopes. */
export function currentScopeContract(test: StageTest): void {
  describe('currentScope() of a route with a transaction', () => {
    test('is the transaction scope, and resolves the services of the transaction', async ({ stage }) => {
      const seen: unknown[] = [];
      for (const tag of ['request', 'transaction']) {
        stage.app.addRegistration(
          Registration.fromFactory(() => `of the ${tag}`)
            .pipe(singleton(), scope(hasTag(tag)))
            .to('IOrders'),
        );
      }
      await stage.serveOrder(
        stage.orderThen(({ transactionScope }) => {
          seen.push(currentScope() === transactionScope, currentScope().resolve('IOrders'));
        }),
        { scopeOptions: { current: true } },
      );
      expect((await stage.order()).status).toBe(201);
      expect(seen).toEqual([true, 'of the transaction']);
    });

    test('is the request scope again in the error handler', async ({ stage }) => {
      const scopes: unknown[] = [];
      await stage.serveOrder(
        async (call) => {
          scopes.push(call.scope);
          await stage.insertOrder(call);
          throw new Error('secret');
        },
        { scopeOptions: { current: true }, onError: () => void scopes.push(currentScope()) },
      );
      expect((await stage.order()).status).toBe(500);
      expect(scopes).toHaveLength(2);
      expect(scopes[1]).toBe(scopes[0]);
      expect(await stage.stored()).toBe(false);
    });
  });
}
