import { Registration } from '@ambit/container';
import { connectionLost } from '@ambit/test-kit';
import { expect, test } from 'vitest';
import type { IAuditLogger } from '../src/logging/logger.js';
import type { IInventoryService, IOrderRepository } from '../src/orders/orders.js';
import { onBothHosts, onOneStage } from './support/stage.js';
import { ordersAnd, usersAnd } from './support/replacements.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };
const KEY = { 'idempotency-key': 'a-key' };

interface Item {
  readonly productId: string;
  readonly quantity: number;
}

const item = (productId: string, quantity = 1): Item => ({ productId, quantity });
const ORDER = { items: [item('apple', 2)] };

const fail = (): never => {
  throw new Error('It went wrong');
};

onOneStage((stage) => {
  const order = (items: unknown) => stage.post<{ id: string; items: Item[] }>('/api/orders', { items });

  test('unknown properties of an order are neither stored nor returned', async () => {
    const sent = { id: 'mine', price: 0, items: [{ ...item('apple'), price: 0 }] };
    const { body } = await stage.post<{ id: string; items: Item[] }>('/api/orders', sent);
    expect(Object.keys(body)).toEqual(['id', 'items', 'createdAt']);
    expect(body).toMatchObject({ id: expect.not.stringMatching('mine'), items: [item('apple')] });
    expect(body.items).toEqual([item('apple')]);
  });

  const PRODUCTS = ['x', '😀'.repeat(200), ' ', '"', '../etc/passwd', 'null', '\u2028', `'; DROP TABLE orders; --`];
  test.each<[what: string, items: readonly Item[]]>([
    ['1,000 items', Array.from({ length: 1000 }, (_, index) => item(`product ${index}`, index + 1))],
    ['a million of a product', [item('apple', 1_000_000)]],
    ['products with any name', PRODUCTS.map((product) => item(product))],
  ])('an order may have %s', async (_what, items) => {
    const { status, body } = await order(items);
    expect([status, body.items]).toEqual([201, items]);
    expect(await stage.rows('SELECT product_id AS "productId", quantity FROM order_items ORDER BY position')).toEqual(
      items,
    );
  });

  test.each(['1.0', '1e0', '1E+0', '0.1e1', '10e-1'])('the quantity 1 may be written as %s', async (quantity) => {
    const sent = `{ "items": [{ "productId": "apple", "quantity": ${quantity} }] }`;
    expect(await stage.post('/api/orders', sent)).toMatchObject({ status: 201, body: { items: [item('apple')] } });
  });

  const TEXT = 'body.items[0].productId must be well-formed Unicode text without NUL';
  const WHOLE = 'body.items[0].quantity must be integer';
  test.each<[what: string, items: unknown, error: string]>([
    ['without items', undefined, 'body must have required properties items'],
    ['with items that are no list', { 0: item('a') }, 'body.items must be array'],
    ['with an empty list', [], 'body.items must not have fewer than 1 items'],
    ['with 1,001 items', Array<object>(1001).fill(item('a')), 'body.items must not have more than 1000 items'],
    ['with too many to look at', Array<object>(4000).fill(item('a')), 'The body must not have more than 10000 values'],
    ['with text as item', ['apple'], 'body.items[0] must be object'],
    ['with an item without product', [{ quantity: 1 }], 'body.items[0] must have required properties productId'],
    ['with an item without quantity', [{ productId: 'a' }], 'body.items[0] must have required properties quantity'],
    ['with an empty product', [item('')], 'body.items[0].productId must not have fewer than 1 characters'],
    [
      'with a product of 201 characters',
      [item('a'), item('x'.repeat(201))],
      'body.items[1].productId must not have more than 200 characters',
    ],
    ['with NUL in a product', [item('a\0')], TEXT],
    ['with half a character in a product', [item('\uDFFF')], TEXT],
    ['with a quantity of 0', [item('a', 0)], 'body.items[0].quantity must be >= 1'],
    ['with half a piece', [item('a', 1.5)], WHOLE],
    ['with too large a quantity', [item('a', 1_000_001)], 'body.items[0].quantity must be <= 1000000'],
    ['with text as quantity', [{ productId: 'a', quantity: '1' }], WHOLE],
  ])('an order %s is refused without a connection, and the error says where', async (_what, items, error) => {
    const { checkedOut } = stage.app.pool;
    expect(await order(items)).toMatchObject({ status: 400, body: { error } });
    expect(stage.app.pool.checkedOut).toBe(checkedOut);
  });
});

onBothHosts((stage) => {
  test.each([
    ['without a key', {}],
    ['under a key', KEY],
  ])('%s an order is created from the body, then its items are reserved, then it is audited', async (_how, headers) => {
    const asked = { ...ORDER, note: 'ring twice' };
    const created = { id: 'the id', items: [item('pear', 2)], createdAt: 'now' };
    const steps: unknown[] = [];
    const orders: IOrderRepository = {
      create: async (body) => {
        steps.push(['create', body]);
        return created;
      },
    };
    const inventory: IInventoryService = { reserve: async (items) => void steps.push(['reserve', items]) };
    const audit: IAuditLogger = { log: async (action, data) => void steps.push([action, data]) };
    stage.replace(
      Registration.fromValue(orders).to('IOrderRepository'),
      Registration.fromValue(inventory).to('IInventoryService'),
      Registration.fromValue(audit).to('IAuditLogger'),
    );
    expect(await stage.post('/api/orders', asked, headers)).toMatchObject({ status: 201, body: created });
    const audited = stage.variant === 'fastify' ? [['order_created', { orderId: created.id }]] : [];
    expect(steps).toEqual([['create', asked], ['reserve', created.items], ...audited]);
  });

  test.each(['/api/orders', '/api/users'])('the log names the request to %s whose rollback failed', async (path) => {
    stage.replace(ordersAnd(fail), usersAnd(fail));
    stage.before('rollback', () => Promise.reject(connectionLost()));
    const { status, headers } = await stage.post(path, { ...ADA, ...ORDER }, KEY);
    expect(status).toBe(500);
    const { requestId } = await stage.app.log.finds({ msg: 'The transaction failed to close' });
    expect(requestId).toBe(headers.get('x-request-id'));
  });
});
