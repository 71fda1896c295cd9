import { randomInt, randomUUID } from 'node:crypto';
import { HOT_PRODUCT, productsOf } from './rows.mjs';

/**
 * @typedef {object} Target what a database has
 * @property {number} orders
 * @property {string[]} users the ids of some
 *
 * @typedef {{ method: string, path: string, headers?: Record<string, string>, body?: string }} Request
 */

const oneOf = (list) => list[randomInt(list.length)];
const get = (path) => ({ method: 'GET', path });
const post = (path, body, headers = {}) => ({
  method: 'POST',
  path,
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
});
const withKey = (key) => ({ 'idempotency-key': key });
const order = (first, second, headers) =>
  post('/api/orders', { items: [first, second].map((productId) => ({ productId, quantity: 1 })) }, headers);

const aProduct = (orders) => `product-${randomInt(productsOf(orders))}`;
/** Two of so many that two orders rarely meet. */
function randomOrder({ orders }, headers) {
  const first = aProduct(orders);
  let second = aProduct(orders);
  while (second === first) second = aProduct(orders);
  return order(first, second, headers);
}

/** At least as many as there are connections. */
const KNOWN_KEYS = 64;

/**
 * What is asked of a database: `next` gives the next request of a connection, `first` has to be sent before.
 *
 * @type {Record<string, { title: string, requests: (target: Target) => { next: (connection: number) => Request, first?: Request[] } }>}
 */
export const works = {
  ready: {
    title: 'GET /health/ready',
    requests: () => ({ next: () => get('/health/ready') }),
  },
  user: {
    title: 'GET /api/users/:id',
    requests: ({ users }) => ({ next: () => get(`/api/users/${oneOf(users)}`) }),
  },
  page: {
    title: 'GET /api/users?limit=50',
    requests: ({ users }) => ({ next: () => get(`/api/users?limit=50&after=${oneOf(users)}`) }),
  },
  'new-user': {
    title: 'POST /api/users',
    requests: () => ({ next: () => post('/api/users', { name: 'Ada Lovelace', email: 'ada@example.com' }) }),
  },
  order: {
    title: 'POST /api/orders',
    requests: (target) => ({ next: () => randomOrder(target) }),
  },
  'order-key': {
    title: 'POST /api/orders, new key',
    requests: (target) => ({ next: () => randomOrder(target, withKey(randomUUID())) }),
  },
  'order-known': {
    title: 'POST /api/orders, known key',
    requests: (target) => {
      const first = Array.from({ length: KNOWN_KEYS }, () => randomOrder(target, withKey(randomUUID())));
      // Two requests with one key at the same time would be refused.
      return { first, next: (connection) => first[connection] };
    },
  },
  'order-hot': {
    title: 'POST /api/orders, hot product',
    requests: ({ orders }) => ({ next: () => order(HOT_PRODUCT, aProduct(orders)) }),
  },
};
