import { Registration } from '@ambit/container';
import { connectionLost, Pause } from '@ambit/test-kit';
import { expect, test } from 'vitest';
import { Problem } from '../src/problem.js';
import { onEveryStage } from './support/stage.js';
import { ordersAnd } from './support/replacements.js';
import { order, setStock, shortOf, stockOf } from './support/stock.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: [{ productId: 'apple', quantity: 2 }] };
const KEY = { 'idempotency-key': 'a-key' };
const UNKNOWN = 'It is not known whether this was carried out: with an Idempotency-Key, ask again with the same';
const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** The one story that runs on both hosts and all databases: what differs between them is met here. */
onEveryStage((stage) => {
  const isFastify = stage.variant === 'fastify';
  const TABLES = ['users', 'orders', 'order_items', 'reservations', 'idempotency_keys'];
  const rowsStored = async (): Promise<number> => {
    const rows = await Promise.all(TABLES.map((table) => stage.rows(`SELECT * FROM ${table}`)));
    return rows.flat().length;
  };
  const apples = async (): Promise<number | undefined> => (await stockOf(stage))['apple'];

  test('users are created, found, listed in pages, and audited', async () => {
    stage.app.identify = () => 'Grace';
    const first = await stage.post<{ id: string }>('/api/users', { ...ADA, id: 'mine', role: 'admin' });
    expect(first).toMatchObject({ status: 201, body: { id: expect.stringMatching(UUID_7), ...ADA } });
    const { body: second } = await stage.post<{ id: string }>('/api/users', { ...ADA, name: '👩‍👩‍👧 עברית \\ "' });
    const users = [first.body, second];
    expect(await stage.get(`/api/users/${second.id.toUpperCase()}`)).toMatchObject({ status: 200, body: second });
    expect(await stage.get(`/api/users/${crypto.randomUUID()}`)).toMatchObject({
      status: 404,
      body: { error: 'User not found' },
    });
    const listed = await stage.get('/api/users');
    expect(listed).toMatchObject({ status: 200, body: users });
    expect((await stage.get(`/api/users?limit=1`)).body).toEqual([first.body]);
    expect((await stage.get(`/api/users?after=${first.body.id}`)).body).toEqual([second]);

    const requestId = first.headers.get('x-request-id');
    const [created] = stage.app.log.audits;
    expect(created).toMatchObject({ action: 'user_created', userId: first.body.id, requestId });
    expect(stage.app.log.audits[2]).toEqual({
      level: 30,
      time: expect.stringMatching(ISO_TIME),
      type: 'audit',
      action: 'users_listed',
      requestId: listed.headers.get('x-request-id'),
      userId: 'Grace',
      timestamp: expect.stringMatching(ISO_TIME),
      count: 2,
    });
  });

  test('an order is stored with its items, its stock and its key, and replayed', async () => {
    await setStock(stage, { apple: 5 });
    const items = ['pear', 'apple', 'fig', 'apple'].map((productId, index) => ({ productId, quantity: index + 1 }));
    await stage.rows("UPDATE stock SET level = 6 WHERE product_id = 'apple'");
    const { status, body, headers } = await stage.post<{ id: string }>('/api/orders', { items }, KEY);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(UUID_7),
      items,
      createdAt: expect.stringMatching(ISO_TIME),
    });
    const requestId = headers.get('x-request-id');
    expect(await stage.rows('SELECT id, request_id FROM orders')).toEqual([{ id: body.id, request_id: requestId }]);
    expect(
      await stage.rows('SELECT product_id AS "productId", quantity FROM order_items ORDER BY position', []),
    ).toEqual(items);
    expect(await apples()).toBe(0);
    const again = await stage.post('/api/orders', { items }, KEY);
    expect(again).toMatchObject({ status: 201, body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await stage.post('/api/orders', ORDER, KEY)).status).toBe(422);
    expect(await order(stage, ['apple', 1])).toMatchObject(shortOf('"apple": 1 wanted, 0 left'));
    expect(await stage.rows('SELECT id FROM orders')).toHaveLength(1);
    expect(stage.app.log.audits).toMatchObject(
      isFastify ? [{ action: 'order_created', orderId: body.id, requestId }] : [],
    );
  });

  test('20 requests at once with one key are done once, and 20 orders for the last 10 pieces sell 10', async () => {
    await setStock(stage, { apple: 10, fig: 100, pear: 100 });
    const keyed = await Promise.all(Array.from({ length: 20 }, () => stage.post('/api/users', ADA, KEY)));
    expect(keyed.filter(({ status, headers }) => status === 201 && !headers.has('idempotency-replayed'))).toHaveLength(
      1,
    );
    expect(keyed.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    expect(await stage.rows('SELECT id FROM users')).toHaveLength(1);

    const wanted = [['apple', 1] as const, ['fig', 1] as const, ['pear', 1] as const];
    const orders = await Promise.all(
      Array.from({ length: 20 }, (_, index) => order(stage, ...(index % 2 === 0 ? wanted : wanted.toReversed()))),
    );
    expect(orders.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(orders.filter(({ status }) => status === 409)).toHaveLength(10);
    expect(await stockOf(stage)).toEqual({ apple: 0, fig: 90, pear: 90 });
  });

  test.each<[what: string, break_: () => unknown, status: number]>([
    [
      'its repository fails after it has written',
      () => stage.replace(ordersAnd(() => Promise.reject(new Error('It went wrong')))),
      500,
    ],
    [
      'its statement fails, and the error is swallowed',
      () => stage.replace(ordersAnd((connection) => connection.query('SELECT * FROM nothing').catch(() => undefined))),
      500,
    ],
    [
      'its products cannot be reserved',
      () =>
        stage.replace(
          Registration.fromValue({ reserve: () => Promise.reject(new Problem(409, 'No')) }).to('IInventoryService'),
        ),
      409,
    ],
    [
      'its connection is lost before COMMIT',
      () =>
        stage.replace(
          ordersAnd(() => {
            for (const connection of stage.app.pool.out) connection.die();
            throw connectionLost();
          }),
        ),
      503,
    ],
    ['COMMIT fails', () => stage.before('commit', () => Promise.reject(new Error('It went wrong'))), 503],
  ])('no part of an order is stored when %s, and its key can be used again', async (_what, break_, status) => {
    await setStock(stage, { apple: 10 });
    break_();
    expect((await stage.post('/api/orders', ORDER, KEY)).status).toBe(status);
    expect([await rowsStored(), await apples()]).toEqual([0, 10]);
    await stage.balance();
    expect((await stage.post('/api/orders', ORDER, KEY)).status).toBe(201);
    expect(await apples()).toBe(8);
  });

  test('no part of an order is stored when its client disconnects before COMMIT', async () => {
    await setStock(stage, { apple: 10 });
    const pause = new Pause();
    stage.replace(ordersAnd(pause.here));
    const client = await stage.app.client();
    client.send({ method: 'POST', path: '/api/orders', body: ORDER, headers: KEY });
    await pause.reached;
    client.reset();
    await stage.app.log.finds({ msg: 'request aborted', path: '/api/orders' });
    pause.letGo();
    await stage.app.quiet();
    expect([await rowsStored(), await apples()]).toEqual([0, 10]);
    expect(stage.app.log.records.filter(({ level }) => Number(level) >= 40)).toEqual([]);
  });

  test.each(['/api/users', '/api/orders'])(
    'a COMMIT at %s without a result is unknown, and its key tells',
    async (path) => {
      const post = () => stage.post(path, { ...ADA, ...ORDER }, KEY);
      stage.after('commit', () => Promise.reject(connectionLost()));
      const lost = await post();
      expect(lost).toMatchObject({ status: 503, body: { error: UNKNOWN } });
      expect(lost.headers.has('retry-after')).toBe(false);
      stage.after('commit', () => undefined);
      const truth = await post();
      expect([truth.status, truth.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    },
  );

  test('a connection that breaks gets 503 with Retry-After, and the next request gets 201', async () => {
    let times = 0;
    stage.before('query', (connection) => (++times === 1 ? connection.die() : undefined));
    const broken = await stage.post('/api/orders', ORDER);
    expect([broken.status, broken.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await stage.post('/api/orders', ORDER)).status).toBe(201);
    expect(await stage.get('/health/ready')).toMatchObject({ status: 200, body: { status: 'ready' } });
  });
});
