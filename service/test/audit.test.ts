import { describe, expect, test } from 'vitest';
import { onEveryStage } from './support/every-stage.js';
import type { LogRecord } from './support/log-book.js';
import { ordersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const INFO = 30;

onEveryStage((stage) => {
  const isFastify = stage.variant === 'fastify';
  const audits = (): LogRecord[] => stage.app.log.audits;

  /** A record written directly in a request's scope. */
  const audit = async (action: string, data: object): Promise<LogRecord | undefined> => {
    await using scope = stage.app.container.createScope({ tags: ['request'] });
    await scope.resolve('IAuditLogger').log(action, data);
    return audits()[0];
  };

  describe('an audit record', () => {
    test('has all fields of the contract, and those of its data', async () => {
      stage.app.identify = () => 'Grace';
      const before = Date.now();
      const { headers } = await stage.get('/api/users');
      expect(audits()).toEqual([
        {
          level: INFO,
          time: expect.stringMatching(ISO_TIME),
          type: 'audit',
          action: 'users_listed',
          requestId: headers.get('x-request-id'),
          userId: 'Grace',
          timestamp: expect.stringMatching(ISO_TIME),
          count: 0,
        },
      ]);
      const at = Date.parse(String(audits()[0]?.['timestamp']));
      expect(at).toBeGreaterThanOrEqual(before);
      expect(at).toBeLessThanOrEqual(Date.now());
    });

    test('has no userId when the caller is anonymous', async () => {
      await stage.get('/api/users');
      expect(Object.keys(audits()[0] ?? {})).not.toContain('userId');
    });

    test('applies its data last: the userId of user_created is the new user, not the caller', async () => {
      stage.app.identify = () => 'Grace';
      const { body, headers } = await stage.post<{ id: string }>('/api/users', ADA);
      expect(audits()).toMatchObject([
        { action: 'user_created', userId: body.id, requestId: headers.get('x-request-id') },
      ]);
    });

    test('never takes type, action or timestamp from its data', async () => {
      const record = await audit('tried', { type: 'x', action: 'y', timestamp: 'z', userId: 'u', requestId: 'r' });
      expect(record).toMatchObject({ type: 'audit', action: 'tried', userId: 'u', requestId: 'r' });
      expect(record?.['timestamp']).toMatch(ISO_TIME);
    });

    test('keeps data that is nested', async () => {
      expect(await audit('tried', { items: [{ a: 1 }], none: null })).toMatchObject({ items: [{ a: 1 }], none: null });
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

    test('an order on Fastify, with its caller', async () => {
      stage.app.identify = () => 'Grace';
      const { body, headers } = await stage.post<{ id: string }>('/api/orders', ORDER);
      const requestId = headers.get('x-request-id');
      const record = { action: 'order_created', orderId: body.id, requestId, userId: 'Grace' };
      expect(audits()).toMatchObject(isFastify ? [record] : []);
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
