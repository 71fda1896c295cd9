export const USERS = 100;
const PRODUCTS = 96;
/** Of this product there are three. */
export const SCARCE = 'scarce';

export const userId = (i) => `01890000-0000-7000-8000-${String(i).padStart(12, '0')}`;
export const productsOf = (kind) => Array.from({ length: PRODUCTS }, (_, i) => `${kind}-${100 + i}`);

const json = (path, body) => ({ method: 'POST', path, body: JSON.stringify(body) });

/** Each connection orders products of its own, so that no row of the stock makes orders wait for each other. */
const order = (size, kind) => (i) => {
  const products = productsOf(kind).slice(i * size, (i + 1) * size);
  return json('/api/orders', { items: products.map((productId, at) => ({ productId, quantity: 1 + at })) });
};

/**
 * What is asked of each contestant: `requestOf(i)` is what connection `i` sends; `stores` tells whether it leaves a row;
 * `products` is how many are tracked, 97 if not given.
 *
 * `warmUp` requests come first: V8 goes on compiling for thousands of them, and the more code there is, the longer.
 */
export const works = {
  user: {
    title: 'GET /api/users/:id',
    requestOf: (i) => ({ method: 'GET', path: `/api/users/${userId(i)}` }),
    stores: false,
    warmUp: 10_000,
  },
  users: {
    title: 'GET /api/users, 100 of them',
    requestOf: () => ({ method: 'GET', path: '/api/users' }),
    stores: false,
    warmUp: 8000,
  },
  'new-user': {
    title: 'POST /api/users',
    requestOf: () => json('/api/users', { name: 'Ada Lovelace', email: 'ada@example.com' }),
    stores: true,
    warmUp: 8000,
  },
  'order-1': {
    title: 'POST /api/orders, one item',
    requestOf: order(1, 'free'),
    stores: true,
    warmUp: 8000,
  },
  'order-1-tracked': {
    title: 'POST /api/orders, one item from stock',
    requestOf: order(1, 'tracked'),
    stores: true,
    warmUp: 8000,
  },
  'order-1-tracked-of-10k': {
    title: 'POST /api/orders, one item from a stock of 10,000 products',
    requestOf: order(1, 'tracked'),
    stores: true,
    warmUp: 8000,
    products: 10_000,
  },
  'order-5': {
    title: 'POST /api/orders, five items',
    requestOf: order(5, 'free'),
    stores: true,
    warmUp: 8000,
  },
  'order-5-tracked': {
    title: 'POST /api/orders, five items from stock',
    requestOf: order(5, 'tracked'),
    stores: true,
    warmUp: 8000,
  },
};
