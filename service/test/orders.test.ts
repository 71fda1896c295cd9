import { describe, expect, test } from 'vitest';
import { onEveryStage } from './support/every-stage.js';
import type { Stage } from './support/stage.js';

interface Order {
  readonly id: string;
  readonly items: readonly { readonly productId: string; readonly quantity: number }[];
  readonly createdAt: string;
}

const item = (productId: string, quantity = 1): Order['items'][number] => ({ productId, quantity });

const order = (stage: Stage, ...items: readonly object[]) => stage.post<Order>('/api/orders', { items });

const storedItems = (stage: Stage, id: string): Promise<object[]> =>
  stage.rows('SELECT product_id AS "productId", quantity FROM order_items WHERE order_id = $1 ORDER BY position', [id]);

onEveryStage((stage) => {
  describe('an order', () => {
    test('gets an id and its time', async () => {
      const before = Date.now();
      const { status, body } = await order(stage, item('apple', 2));
      expect(status).toBe(201);
      expect(body).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{14}7[0-9a-f-]{21}$/),
        items: [item('apple', 2)],
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
      expect(Date.parse(body.createdAt)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(body.createdAt)).toBeLessThanOrEqual(Date.now());
    });

    test('keeps its items in sequence', async () => {
      const items = ['pear', 'apple', 'fig', 'banana'].map((productId, index) => item(productId, index + 1));
      const { body } = await order(stage, ...items);
      expect(body.items).toEqual(items);
      expect(await storedItems(stage, body.id)).toEqual(items);
    });

    test('may name the same product twice', async () => {
      const items = [item('apple', 2), item('pear'), item('apple', 3)];
      const { body } = await order(stage, ...items);
      expect(body.items).toEqual(items);
      expect(await storedItems(stage, body.id)).toEqual(items);
    });

    test('neither stores nor returns unknown properties', async () => {
      const { body } = await stage.post<Order>('/api/orders', {
        id: 'mine',
        price: 0,
        items: [{ ...item('apple'), price: 0 }],
      });
      expect(Object.keys(body)).toEqual(['id', 'items', 'createdAt']);
      expect(body.id).not.toBe('mine');
      expect(body.items).toEqual([item('apple')]);
    });

    test('may have 1,000 items', async () => {
      const items = Array.from({ length: 1000 }, (_, index) => item(`product ${index}`, index + 1));
      const { status, body } = await order(stage, ...items);
      expect(status).toBe(201);
      expect(body.items).toEqual(items);
      expect(await storedItems(stage, body.id)).toEqual(items);
    });

    test.each([1, 1_000_000])('may order %d of a product', async (quantity) => {
      expect((await order(stage, item('apple', quantity))).body.items).toEqual([item('apple', quantity)]);
    });

    test.each(['1.0', '1e0', '1E+0', '0.1e1', '10e-1'])('may write the quantity 1 as %s', async (quantity) => {
      const response = await stage.post(
        '/api/orders',
        `{ "items": [{ "productId": "apple", "quantity": ${quantity} }] }`,
      );
      expect(response).toMatchObject({ status: 201, body: { items: [item('apple')] } });
    });

    test.each(['x', '😀'.repeat(200), ' ', '"', '../etc/passwd', '1', 'null', '\u2028', `'; DROP TABLE orders; --`])(
      'may name a product %s',
      async (productId) => {
        const { body } = await order(stage, item(productId));
        expect(await storedItems(stage, body.id)).toEqual([item(productId)]);
      },
    );
  });

  describe('an order is refused', () => {
    const REFUSED: readonly (readonly [what: string, items: unknown, error: string])[] = [
      ['without items', undefined, 'body must have required properties items'],
      ['with items that are no list', { 0: item('a') }, 'body.items must be array'],
      ['with null as items', null, 'body.items must be array'],
      ['with an empty list', [], 'body.items must not have fewer than 1 items'],
      ['with 1,001 items', Array<object>(1001).fill(item('a')), 'body.items must not have more than 1000 items'],
      [
        'with so many that none is looked at',
        Array<object>(4000).fill(item('a')),
        'The body must not have more than 10000 values',
      ],
      ['with text as item', ['apple'], 'body.items[0] must be object'],
      ['with null as item', [null], 'body.items[0] must be object'],
      ['with an item without product', [{ quantity: 1 }], 'body.items[0] must have required properties productId'],
      ['with an item without quantity', [{ productId: 'a' }], 'body.items[0] must have required properties quantity'],
      ['with an empty product', [item('')], 'body.items[0].productId must not have fewer than 1 characters'],
      [
        'with a product of 201 characters',
        [item('a'), item('x'.repeat(201))],
        'body.items[1].productId must not have more than 200 characters',
      ],
      ['with NUL in a product', [item('a\0')], 'body.items[0].productId must be well-formed Unicode text without NUL'],
      [
        'with half a character in a product',
        [item('\uDFFF')],
        'body.items[0].productId must be well-formed Unicode text without NUL',
      ],
      ['with a number as product', [{ productId: 1, quantity: 1 }], 'body.items[0].productId must be string'],
      ['with a quantity of 0', [item('a', 0)], 'body.items[0].quantity must be >= 1'],
      ['with a negative quantity', [item('a', -1)], 'body.items[0].quantity must be >= 1'],
      ['with half a piece', [item('a', 1.5)], 'body.items[0].quantity must be integer'],
      ['with too large a quantity', [item('a', 1_000_001)], 'body.items[0].quantity must be <= 1000000'],
      ['with text as quantity', [{ productId: 'a', quantity: '1' }], 'body.items[0].quantity must be integer'],
      ['with null as quantity', [{ productId: 'a', quantity: null }], 'body.items[0].quantity must be integer'],
    ];

    test.each(REFUSED)('%s, and says where', async (_what, items, error) => {
      expect(await stage.post('/api/orders', { items })).toMatchObject({ status: 400, body: { error } });
      expect(await stage.rows('SELECT id FROM orders')).toEqual([]);
    });

    test('without acquiring a connection', async () => {
      const { checkedOut } = stage.app.pool;
      await order(stage);
      expect(stage.app.pool.checkedOut).toBe(checkedOut);
    });
  });
});
