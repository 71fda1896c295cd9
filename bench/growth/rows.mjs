/** What the tables of a database of so many orders hold, as SQL that fills them. */

const YEAR_MS = 31_536_000_000;
const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2025, 0, 1);
/** Spreads the products over the orders. */
const MULTIPLIER = 2_654_435_761;

/** A product that all orders of a work take, beside those that are spread over all products. */
export const HOT_PRODUCT = 'hot';
/** Of this product there is one. */
export const SCARCE_PRODUCT = 'scarce';

export const usersOf = (orders) => orders / 10;
export const productsOf = (orders) => orders / 100;
/** All younger than a day, because the service deletes the older ones. */
export const keysOf = (orders) => orders / 10;
const eventsOf = (orders) => orders / 10;

/** Ids of the same millisecond differ by the kind of row. */
const KINDS = { user: '8000', order: '8001', request: '8002' };

/** The id of user `i`: a UUID of version 7, of that time of the year. */
export function userId(i, orders) {
  const time = (FIRST_MS + i * msBetween(usersOf(orders))).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-${KINDS.user}-${String(i).padStart(12, '0')}`;
}

const msBetween = (rows) => Math.floor(YEAR_MS / rows);

/**
 * In what the databases differ. All of them take `||` for texts, in MariaDB by its mode PIPES_AS_CONCAT.
 *
 * @type {Record<string, { series: (rows: number) => string, hex: (n: string) => string, decimal: (n: string) => string, random: (n: string) => string, key: string }>}
 */
const DIALECTS = {
  postgres: {
    series: (rows) => `FROM generate_series(CAST(1 AS bigint), ${rows}) AS s(i)`,
    hex: (n) => `lpad(to_hex(CAST(${n} AS bigint)), 12, '0')`,
    decimal: (n) => `lpad(CAST(${n} AS text), 12, '0')`,
    random: (n) => `md5(CAST(${n} AS text))`,
    key: 'key',
  },
  mariadb: {
    series: (rows) => `FROM (SELECT CAST(seq AS SIGNED) AS i FROM seq_1_to_${rows}) AS s`,
    hex: (n) => `lpad(lower(hex(${n})), 12, '0')`,
    decimal: (n) => `lpad(${n}, 12, '0')`,
    random: (n) => `md5(${n})`,
    key: '`key`',
  },
  sqlite: {
    series: (rows) => `FROM (SELECT value AS i FROM generate_series(1, ${rows})) AS s`,
    hex: (n) => `printf('%012x', ${n})`,
    decimal: (n) => `printf('%012d', ${n})`,
    random: () => 'lower(hex(randomblob(16)))',
    key: 'key',
  },
};

/** The tables that are filled together, because a foreign key connects them. */
export const GROUPS = [
  ['users'],
  ['stock'],
  ['orders', 'order_items'],
  ['reservations'],
  ['outbox'],
  ['idempotency_keys'],
];

/**
 * INSERT statements that fill the tables, each by its name.
 *
 * @param {keyof typeof DIALECTS} dialect
 * @param {number} orders
 * @returns {Record<string, string>}
 */
export function insertsOf(dialect, orders) {
  const { series, hex, decimal, random, key } = DIALECTS[dialect];
  const id = (kind, i, rows) => {
    const time = hex(`${FIRST_MS} + ${i} * ${msBetween(rows)}`);
    return `substr(${time}, 1, 8) || '-' || substr(${time}, 9, 4) || '-7000-${KINDS[kind]}-' || ${decimal(i)}`;
  };
  // Of two rows for each order; the second has another product.
  const [order, position] = ['((i + 1) >> 1)', '((i + 1) & 1)'];
  const products = productsOf(orders);
  const product = `'product-' || ((${order} * ${MULTIPLIER} + ${position} * (1 + ${order} % ${products - 1})) % ${products})`;
  return {
    users: `INSERT INTO users (id, name, email)
      SELECT ${id('user', 'i', usersOf(orders))}, 'User ' || i, 'user' || i || '@example.com' ${series(usersOf(orders))}`,
    stock: `INSERT INTO stock (product_id, level)
      SELECT 'product-' || (i - 1), 1000000000 ${series(products)}
      UNION ALL SELECT '${HOT_PRODUCT}', 1000000000 UNION ALL SELECT '${SCARCE_PRODUCT}', 1`,
    orders: `INSERT INTO orders (id, request_id, created_at)
      SELECT ${id('order', 'i', orders)}, ${id('request', 'i', orders)}, '2025-01-01T00:00:00.000Z' ${series(orders)}`,
    order_items: `INSERT INTO order_items (order_id, position, product_id, quantity)
      SELECT ${id('order', order, orders)}, ${position}, ${product}, 1 ${series(2 * orders)}`,
    reservations: `INSERT INTO reservations (request_id, product_id, quantity)
      SELECT ${id('request', order, orders)}, ${product}, 1 ${series(2 * orders)}`,
    outbox: `INSERT INTO outbox (id, topic, ${key}, payload, created_at, state, settled_at)
      SELECT ${random('i')}, 'order.created', ${random('-i')}, '{"id":"${'x'.repeat(200)}"}', ${FIRST_MS} + i, 'delivered', ${FIRST_MS} + i
      ${series(eventsOf(orders))}`,
    idempotency_keys: keysUntil(dialect, orders, Date.now()),
  };
}

/** As many as there are younger ones, of the day before yesterday. */
export const expiredKeys = (dialect, orders) => keysUntil(dialect, orders, Date.now() - 2 * DAY_MS);

function keysUntil(dialect, orders, time) {
  const { series, random, key } = DIALECTS[dialect];
  const keys = keysOf(orders);
  return `INSERT INTO idempotency_keys (${key}, fingerprint, status, body, created_at)
    SELECT ${random(`i + ${time}`)}, '${'f'.repeat(43)}', 201, '${'x'.repeat(250)}', ${time} - i * ${Math.floor(DAY_MS / 2 / keys)}
    ${series(keys)}`;
}
