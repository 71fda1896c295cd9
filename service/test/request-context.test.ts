import { Pause } from '@ambit/test-kit';
import { describe, expect, test } from 'vitest';
import type { IRequestContext } from '../src/ids.js';
import { Problem } from '../src/problem.js';
import { onBothHosts } from './support/stage.js';
import { ordersAnd } from './support/replacements.js';

const ORDER = { items: [{ productId: 'apple', quantity: 1 }] };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

onBothHosts((stage) => {
  describe('the id of a request', () => {
    test('is a new UUID each time, later ones after earlier ones, in the header x-request-id', async () => {
      const responses = [await stage.get('/api/users'), await stage.get('/api/users')];
      const ids = responses.map(({ headers }) => headers.get('x-request-id'));
      for (const id of ids) expect(id).toMatch(UUID);
      expect(ids[0]! < ids[1]!).toBe(true);
    });

    test('is not taken from the client', async () => {
      const { headers } = await stage.app.request({ path: '/api/users', headers: { 'x-request-id': 'mine' } });
      expect(headers.get('x-request-id')).toMatch(UUID);
    });

    test('is that of the audit record and of the line in the log', async () => {
      const requestId = (await stage.get('/api/users?limit=3')).headers.get('x-request-id');
      const line = await stage.app.log.finds({ msg: 'request', path: '/api/users' });
      expect(line).toEqual({
        level: 30,
        time: expect.any(String),
        msg: 'request',
        requestId,
        method: 'GET',
        path: '/api/users',
        status: 200,
        ms: expect.any(Number),
      });
      expect(stage.app.log.audits).toMatchObject([{ requestId }]);
    });

    test('is in the line of a request without a response, which has no status', async () => {
      const pause = new Pause();
      stage.replace(ordersAnd(pause.here));
      const client = await stage.app.client();
      client.send({ method: 'POST', path: '/api/orders', body: ORDER });
      await pause.reached;
      client.reset();
      const line = await stage.app.log.finds({ msg: 'request aborted', path: '/api/orders' });
      pause.letGo();
      expect(line).toMatchObject({ requestId: expect.stringMatching(UUID), method: 'POST', ms: expect.any(Number) });
      expect(line).not.toHaveProperty('status');
    });
  });

  describe('the context of a request', () => {
    test('has its creation time, and is shared by the request and its transaction', async () => {
      await using first = stage.app.container.createScope({ tags: ['request'] });
      await using second = stage.app.container.createScope({ tags: ['request'] });
      const before = Date.now();
      const context = first.resolve('IRequestContext');
      expect(context.startTime).toBeInstanceOf(Date);
      expect(context.startTime.getTime()).toBeGreaterThanOrEqual(before);
      expect(context.startTime.getTime()).toBeLessThanOrEqual(Date.now());
      expect(first.createScope({ tags: ['transaction'] }).resolve('IRequestContext')).toBe(context);
      expect(second.resolve('IRequestContext')).not.toBe(context);
    });

    test('accepts setUserId() once', async () => {
      await using scope = stage.app.container.createScope({ tags: ['request'] });
      const context: IRequestContext = scope.resolve('IRequestContext');
      expect(context.userId).toBeUndefined();
      context.setUserId('Grace');
      expect(context.userId).toBe('Grace');
      expect(() => context.setUserId('Ada')).toThrow('setUserId() was called twice');
      expect(context.userId).toBe('Grace');
    });
  });

  describe('identify', () => {
    test('returns the caller, and may be asynchronous', async () => {
      stage.app.identify = async ({ headers }) => {
        await new Promise(setImmediate);
        return headers.authorization;
      };
      await stage.app.request({ path: '/api/users', headers: { authorization: 'Grace' } });
      await stage.app.request({ path: '/api/users', headers: { authorization: 'Ada' } });
      expect(stage.app.log.audits).toMatchObject([{ userId: 'Grace' }, { userId: 'Ada' }]);
    });

    test('refuses a request with a Problem, and nothing is stored', async () => {
      stage.app.identify = () => {
        throw new Problem(401, 'The token is not known', { 'www-authenticate': 'Bearer' });
      };
      const response = await stage.post('/api/users', { name: 'Ada', email: 'ada@example.org' });
      expect(response).toMatchObject({ status: 401, body: { error: 'The token is not known' } });
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await stage.rows('SELECT id FROM users')).toEqual([]);
    });
  });
});
