import { randomInt, randomUUID } from 'node:crypto';
import { HOT_PRODUCT, productsOf, SCARCE_PRODUCT, userId, usersOf } from './rows.mjs';

/** @typedef {{ method: string, path: string, headers?: Record<string, string>, body?: string }} Request */

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

const aUser = (orders) => userId(1 + randomInt(usersOf(orders)), orders);
const aProduct = (orders) => `product-${randomInt(productsOf(orders))}`;
/** Two of so many that two orders rarely meet. */
function randomOrder(orders, headers) {
  const first = aProduct(orders);
  let second = aProduct(orders);
  while (second === first) second = aProduct(orders);
  return order(first, second, headers);
}

const ADA = { name: 'Ada Lovelace', email: 'ada@example.com' };

/** Two requests with one key at the same time would be refused, so each connection has keys of its own. */
const MOST_CONNECTIONS = 32;
const KEYS_EACH = 8;

/**
 * What is asked of a database with so many orders: `next` gives the next request of a connection, `first` has to be sent before.
 * `status` begins the expected one, by default that of a success. What has `at` goes to another port than the API.
 *
 * @type {Record<string, { title: string, status?: string, at?: 'events', requests: (orders: number) => { next: (connection: number) => Request, first?: Request[] } }>}
 */
export const works = {
  ready: {
    title: 'GET /health/ready',
    requests: () => ({ next: () => get('/health/ready') }),
  },
  user: {
    title: 'GET /api/users/:id',
    requests: (orders) => ({ next: () => get(`/api/users/${aUser(orders)}`) }),
  },
  'first-page': {
    title: 'GET /api/users?limit=50',
    requests: () => ({ next: () => get('/api/users?limit=50') }),
  },
  page: {
    title: 'GET /api/users?limit=50&after=',
    requests: (orders) => ({ next: () => get(`/api/users?limit=50&after=${aUser(orders)}`) }),
  },
  'new-user': {
    title: 'POST /api/users',
    requests: () => ({ next: () => post('/api/users', ADA) }),
  },
  'new-user-key': {
    title: 'POST /api/users, new key',
    requests: () => ({ next: () => post('/api/users', ADA, withKey(randomUUID())) }),
  },
  order: {
    title: 'POST /api/orders',
    requests: (orders) => ({ next: () => randomOrder(orders) }),
  },
  'order-hot': {
    title: 'POST /api/orders, hot product',
    requests: (orders) => ({ next: () => order(HOT_PRODUCT, aProduct(orders)) }),
  },
  'order-key': {
    title: 'POST /api/orders, new key',
    requests: (orders) => ({ next: () => randomOrder(orders, withKey(randomUUID())) }),
  },
  'order-known': {
    title: 'POST /api/orders, known key',
    requests: (orders) => {
      const first = Array.from({ length: MOST_CONNECTIONS * KEYS_EACH }, () =>
        randomOrder(orders, withKey(randomUUID())),
      );
      return { first, next: (connection) => first[connection + MOST_CONNECTIONS * randomInt(KEYS_EACH)] };
    },
  },
  'order-short': {
    title: 'POST /api/orders, 409',
    status: '409',
    requests: (orders) => ({
      next: () =>
        post('/api/orders', {
          items: [
            { productId: aProduct(orders), quantity: 1 },
            { productId: SCARCE_PRODUCT, quantity: 2 },
          ],
        }),
    }),
  },
  event: {
    title: 'an event, published and delivered',
    at: 'events',
    requests: () => ({ next: () => ({ method: 'POST', path: '/event' }) }),
  },
};
