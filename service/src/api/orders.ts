import { NewOrder, Order } from '../orders/order.js';
import { type Endpoint, problem } from './endpoint.js';
import { BAD_KEY, FAILURES_OF_WORK, KEY_IN_USE, KEY_USED, REFUSALS_OF_BODY, UNREADABLE_BODY } from './problems.js';

const fruit = {
  items: [
    { productId: 'apple', quantity: 3 },
    { productId: 'pear', quantity: 1 },
  ],
};
const oneApple = { items: [{ productId: 'apple', quantity: 1 }] };
const TWO_PRODUCTS = 'Two products';
const ONE_PRODUCT = 'One product';
const placed = { id: '019a9f40-1e55-7c0e-8a43-97d1c2b3e4f5', createdAt: '2026-01-31T12:00:00.000Z' };

const createOrder: Endpoint = {
  method: 'POST',
  path: '/api/orders',
  operationId: 'createOrder',
  tag: 'Orders',
  summary: 'Place an order',
  description:
    'Stores the order and takes its items from stock in one transaction: both are committed, or both are rolled back. ' +
    'A product without a stock level can be ordered freely.',
  parameters: ['idempotencyKey'],
  request: {
    schema: NewOrder,
    examples: {
      fruit: { summary: TWO_PRODUCTS, value: fruit },
      oneApple: { summary: ONE_PRODUCT, value: oneApple },
    },
  },
  responses: {
    201: {
      description: 'The order, with its items in the same sequence as in the request.',
      headers: ['idempotency-replayed'],
      schema: Order,
      examples: {
        fruit: { summary: TWO_PRODUCTS, value: { ...placed, ...fruit } },
        oneApple: { summary: ONE_PRODUCT, value: { ...placed, ...oneApple } },
      },
    },
    400: problem('The body or the key is invalid.', {
      ...UNREADABLE_BODY,
      noItems: ['No item', 'body.items must not have fewer than 1 items'],
      badQuantity: ['A quantity of 0', 'body.items[0].quantity must be >= 1'],
      badKey: BAD_KEY,
    }),
    409: problem(
      'There is not enough stock, and nothing was taken. Or a request with the same key is running.',
      { notEnough: ['Too little stock', 'Not enough stock of "apple": 3 wanted, 2 left'], keyInUse: KEY_IN_USE },
      ['retry-after'],
    ),
    422: KEY_USED,
    ...REFUSALS_OF_BODY,
    ...FAILURES_OF_WORK,
  },
};

export const orderEndpoints: readonly Endpoint[] = [createOrder];
