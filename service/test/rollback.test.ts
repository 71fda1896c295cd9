import { Registration } from '@ambit/container';
import { connectionLost, Pause, requestText } from '@ambit/host-contract';
import { beforeEach, describe, expect, test } from 'vitest';
import type { IUserRepository } from '../src/users/users.js';
import { onEveryStage } from './support/every-stage.js';
import { ordersAnd, usersAnd } from './support/replacements.js';

const fail = (): never => {
  throw new Error('It went wrong');
};

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 2 }] };
const KEY = { 'idempotency-key': 'a-key' };

onEveryStage((stage) => {
  const order = () => stage.post('/api/orders', ORDER, KEY);

  const stored = async (): Promise<object> => {
    const tables = ['users', 'orders', 'order_items', 'reservations', 'idempotency_keys'];
    const counts = await Promise.all(tables.map(async (table) => (await stage.rows(`SELECT * FROM ${table}`)).length));
    const [stock] = await stage.rows<{ level: number }>('SELECT level FROM stock');
    return { rows: counts.reduce((sum, count) => sum + count), stock: stock?.level };
  };
  const NOTHING = { rows: 0, stock: 10 };

  beforeEach(() => stage.rows(`INSERT INTO stock (product_id, level) VALUES ('apple', 10)`));

  describe('no part of an order is stored', () => {
    test('when its repository fails after it has written', async () => {
      stage.replace(ordersAnd(fail));
      expect((await order()).status).toBe(500);
      expect(await stored()).toEqual(NOTHING);
    });

    test('when its statement fails', async () => {
      stage.replace(ordersAnd((connection) => connection.query('INSERT INTO nothing (at) VALUES (1)')));
      expect((await order()).status).toBe(500);
      expect(await stored()).toEqual(NOTHING);
    });

    test('when a failed statement was swallowed', async () => {
      stage.replace(ordersAnd((connection) => connection.query('SELECT * FROM nothing').catch(() => undefined)));
      expect((await order()).status).toBeGreaterThanOrEqual(500);
      expect(await stored()).toEqual(NOTHING);
    });

    test('when its products cannot be reserved', async () => {
      stage.replace(Registration.fromValue({ reserve: fail }).to('IInventoryService'));
      expect((await order()).status).toBe(500);
      expect(await stored()).toEqual(NOTHING);
    });

    test('when COMMIT fails', async () => {
      stage.before('commit', fail);
      expect((await order()).status).toBeGreaterThanOrEqual(500);
      expect(await stored()).toEqual(NOTHING);
    });

    test('when the connection is lost before COMMIT', async () => {
      stage.replace(
        ordersAnd(() => {
          for (const connection of stage.app.pool.out) connection.die();
          throw connectionLost();
        }),
      );
      expect((await order()).status).toBe(503);
      expect(await stored()).toEqual(NOTHING);
    });

    test('when its client disconnects before COMMIT', async () => {
      const pause = new Pause();
      stage.replace(ordersAnd(pause.here));
      const client = await stage.app.client();
      client.send({ method: 'POST', path: '/api/orders', body: ORDER, headers: KEY });
      await pause.reached;
      client.reset();
      await stage.app.log.finds({ msg: 'request aborted', path: '/api/orders' });
      pause.letGo();
      await stage.app.quiet();
      expect(await stored()).toEqual(NOTHING);
      // The log says that the client disconnected, and has no failure.
      expect(stage.app.log.records.filter(({ level }) => level === 50)).toEqual([]);
    });

    test('when its client disconnects before COMMIT while its response is queued behind another', async () => {
      const [list, pause] = [new Pause(), new Pause()];
      const users = { findAll: () => list.here().then(() => []), findById: fail, create: fail };
      stage.replace(Registration.fromValue<IUserRepository>(users).to('IUserRepository'), ordersAnd(pause.here));
      const client = await stage.app.client();
      client.send({ path: '/api/users' }, { method: 'POST', path: '/api/orders', body: ORDER, headers: KEY });
      await Promise.all([list.reached, pause.reached]);
      client.reset();
      await stage.app.log.finds({ msg: 'request aborted', path: '/api/users' });
      list.letGo();
      pause.letGo();
      await stage.app.quiet();
      expect(await stored()).toEqual(NOTHING);
    });
  });

  test('an order is stored and gets its response although its client sends invalid HTTP after it', async () => {
    const client = await stage.app.client();
    client.write(`${requestText({ method: 'POST', path: '/api/orders', body: ORDER, headers: KEY })}HELLO\r\n\r\n`);
    expect((await client.response()).status).toBe(201);
    await client.closed();
    expect(client.unread).toBe('');
    expect(await stage.rows('SELECT level FROM stock')).toEqual([{ level: 8 }]);
  });

  test('an order that failed can be placed again under the same key', async () => {
    let failures = 0;
    stage.replace(ordersAnd(() => (++failures === 1 ? fail() : undefined)));
    expect((await order()).status).toBe(500);
    expect((await order()).status).toBe(201);
    expect(await stage.rows('SELECT level FROM stock')).toEqual([{ level: 8 }]);
  });

  test('no part of a user with a key is stored when the repository fails after it has written', async () => {
    stage.replace(usersAnd(fail));
    expect((await stage.post('/api/users', ADA, KEY)).status).toBe(500);
    expect(await stored()).toEqual(NOTHING);
  });

  test.each(['/api/orders', '/api/users'])('the log names the request to %s whose rollback failed', async (path) => {
    stage.replace(ordersAnd(fail), usersAnd(fail));
    stage.before('rollback', () => Promise.reject(connectionLost()));
    const { headers } = await stage.post(path, { ...ADA, ...ORDER }, KEY);
    const { requestId } = await stage.app.log.finds({ msg: 'The transaction failed to close' });
    expect(requestId).toBe(headers.get('x-request-id'));
    expect(await stored()).toEqual(NOTHING);
  });
});
