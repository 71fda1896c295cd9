import { type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { beginTransaction } from '@ambit/transaction/host';
import { Container, MetadataInjector, Registration } from '@ambit/container';
import type { Route, StageOptions, StageTest } from '@ambit/testing/hosts';
import { describe, expect } from 'vitest';
import { ForeignContainer } from '../support/foreign-container.js';
import type { ScopeLedger } from '@ambit/test-kit';
import { CREATED, ORDER } from '@ambit/testing/tools';

export function containerContract(test: StageTest): void {
  describe('a test container of values', () => {
    test('takes the place of the real one, and handlers use its values', async ({ stage }) => {
      const audited: string[] = [];
      const values = new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
        Registration.fromValue({ findAll: async () => [{ id: '1', name: 'Ann' }] }).to('IUserRepository'),
        Registration.fromValue({ log: async (action: string) => void audited.push(action) }).to('IAuditLogger'),
        Registration.fromValue({ requestId: 'fixed' }).to('IRequestContext'),
      );
      await stage.serveRequest(
        async ({ scope }) => {
          const users = await scope.resolve<{ findAll(): Promise<object[]> }>('IUserRepository').findAll();
          await scope.resolve<{ log(action: string): Promise<void> }>('IAuditLogger').log('users_listed');
          const { requestId } = scope.resolve<{ requestId: string }>('IRequestContext');
          return { kind: 'json', body: { users, requestId } };
        },
        { container: () => values },
      );
      expect(JSON.parse((await stage.get()).text)).toEqual({ users: [{ id: '1', name: 'Ann' }], requestId: 'fixed' });
      expect(audited).toEqual(['users_listed']);
    });
  });

  describe('a transaction scope as the container of an application', () => {
    test('refuses a second transaction, and runs what is nested in a savepoint', async ({ stage }) => {
      const request = stage.app.createScope({ tags: ['request'] });
      const outer = await beginTransaction(request);
      const inner: Route['handle'] = ({ scope }) =>
        runInTransaction(scope, async (transactionScope) => {
          await stage.insertOrder({ transactionScope });
          return CREATED;
        });
      await stage.serve(
        [
          { method: 'POST', path: '/orders', transaction: {}, handle: () => CREATED },
          { method: 'POST', path: '/nested', handle: inner },
        ],
        { container: () => outer.scope },
      );
      expect((await stage.order()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ code: 'AMBIT_TX_ALREADY_OPEN' }]);
      expect((await stage.request({ ...ORDER, path: '/nested' })).status).toBe(201);
      expect(stage.pool.steps.filter((step) => step === 'acquire' || step === 'commit')).toEqual(['acquire']);
      await outer.rollback();
      await request.dispose();
      expect(await stage.stored()).toBe(false);
    });
  });

  describe('a foreign container', () => {
    const foreign = {
      container: (ledger: ScopeLedger, pool: IDatabasePool) => ForeignContainer.application(ledger, pool),
    };

    test('opens a scope for a request and disposes it once', async ({ stage }) => {
      await stage.serveRequest(({ scope }) => {
        scope.register('IGreeting', () => 'hello');
        return { kind: 'text', text: scope.resolve<string>('IGreeting') };
      }, foreign);
      expect((await stage.get()).text).toBe('hello');
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('that refuses a registration fails the request, and its scope is disposed all the same', async ({ stage }) => {
      const readOnly: StageOptions['container'] = (ledger, pool) => {
        const app = ForeignContainer.application(ledger, pool);
        const refuse = (): never => {
          throw new Error('read-only');
        };
        return Object.assign(app, {
          createScope: (options: { tags: string[] }) =>
            Object.assign(ForeignContainer.prototype.createScope.call(app, options), { register: refuse }),
        });
      };
      await stage.serveRequest(() => ({ kind: 'text', text: 'hello' }), { container: readOnly });
      expect((await stage.get()).status).toBe(500);
      expect(stage.errors).toMatchObject([{ message: 'read-only' }]);
      await stage.quiet();
      expect(stage.scopes.count('request')).toBe(1);
    });

    test('commits when a handler responds', async ({ stage }) => {
      await stage.serveOrder(stage.createOrder, foreign);
      expect((await stage.order()).status).toBe(201);
      expect(await stage.stored()).toBe(true);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'commit', 'release']);
    });

    test('rolls back what a handler throws on', async ({ stage }) => {
      await stage.serveOrder(
        stage.orderThen(() => Promise.reject(new Error('secret'))),
        foreign,
      );
      expect((await stage.order()).status).toBe(500);
      expect(await stage.stored()).toBe(false);
      await stage.quiet();
      expect(stage.pool.steps).toEqual(['acquire', 'begin', 'query', 'rollback', 'release']);
    });

    const kinds: [string, StageOptions['container']][] = [
      ['that leaves its children alone', foreign.container],
      ['that disposes its children', (ledger, pool) => ForeignContainer.application(ledger, pool, true)],
    ];
    test.for(kinds)(
      '%s rolls back when the client goes away, and nothing is left open',
      async ([, container], { stage }) => {
        await stage.serveOrder(
          stage.orderThen(() => new Promise(() => undefined)),
          container ? { container } : {},
        );
        const client = await stage.sends(ORDER);
        await stage.pool.reaches('query');
        client.reset();
        await stage.quiet();
        expect(stage.pool.steps).toContain('rollback');
        expect(await stage.stored()).toBe(false);
        expect([stage.remarks, stage.disposeErrors]).toEqual([[], []]);
      },
    );
  });
}
