import { describe, expect, test } from 'vitest';
import { onBothHosts } from './support/every-stage.js';
import type { LogRecord } from './support/log-book.js';
import { ordersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

onBothHosts((stage) => {
  const isFastify = stage.variant === 'fastify';
  const audits = (): LogRecord[] => stage.app.log.audits;

  /** A record written directly in a request's scope. */
  const audit = async (action: string, data: object): Promise<LogRecord | undefined> => {
    await using scope = stage.app.container.createScope({ tags: ['request'] });
    await scope.resolve('IAuditLogger').log(action, data);
    return audits()[0];
  };

  describe('an audit record', () => {
    test('has no userId when the caller is anonymous', async () => {
      await stage.get('/api/users');
      expect(Object.keys(audits()[0] ?? {})).not.toContain('userId');
    });

    test('never takes type, action or timestamp from its data', async () => {
      const record = await audit('tried', { type: 'x', action: 'y', timestamp: 'z', userId: 'u', requestId: 'r' });
      expect(record).toMatchObject({ type: 'audit', action: 'tried', userId: 'u', requestId: 'r' });
      expect(record?.['timestamp']).toMatch(ISO_TIME);
    });
  });

  describe('an audit record is written for', () => {
    test('the list, with how many users were listed', async () => {
      await stage.post('/api/users', ADA);
      await stage.post('/api/users', ADA);
      stage.app.log.clear();
      await stage.get('/api/users');
      await stage.get('/api/users?limit=1');
      expect(audits()).toMatchObject([
        { action: 'users_listed', count: 2 },
        { action: 'users_listed', count: 1 },
      ]);
    });

    test('an order on Fastify before it is stored: after a failed COMMIT there is a record, and no order', async () => {
      stage.before('commit', () => Promise.reject(new Error('It went wrong')));
      expect((await stage.post('/api/orders', ORDER)).status).toBeGreaterThanOrEqual(500);
      expect(audits()).toMatchObject(isFastify ? [{ action: 'order_created' }] : []);
      expect(await stage.rows('SELECT id FROM orders')).toEqual([]);
    });

    test('a request with a key, once', async () => {
      for (const path of ['/api/users', '/api/orders'])
        for (let times = 0; times < 3; times++)
          await stage.post(path, { ...ADA, ...ORDER }, { 'idempotency-key': `for ${path}`.replaceAll(' ', '_') });
      const actions = audits().map(({ action }) => action);
      expect(actions).toEqual(isFastify ? ['user_created', 'order_created'] : ['user_created']);
    });
  });

  describe('no audit record is written for', () => {
    test('a single user, found or not', async () => {
      const { body } = await stage.post<{ id: string }>('/api/users', ADA);
      stage.app.log.clear();
      await stage.get(`/api/users/${body.id}`);
      await stage.get(`/api/users/${crypto.randomUUID()}`);
      expect(audits()).toEqual([]);
    });

    test('a request that was refused or failed before COMMIT', async () => {
      await stage.rows(`INSERT INTO stock (product_id, level) VALUES ('apple', 0)`);
      expect((await stage.post('/api/orders', ORDER)).status).toBe(409);
      stage.replace(
        ordersAnd(() => {
          throw new Error('It went wrong');
        }),
      );
      await stage.post('/api/users', {});
      await stage.post('/api/orders', {});
      await stage.get('/api/users?limit=0');
      expect((await stage.post('/api/orders', ORDER)).status).toBe(500);
      expect(audits()).toEqual([]);
    });
  });
});
