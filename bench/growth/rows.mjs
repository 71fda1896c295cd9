/** What the tables of a database of so many orders hold, as SQL that fills them. */

const YEAR_MS = 31_536_000_000;
const HALF_A_DAY_MS = 43_200_000;
const FIRST_MS = Date.UTC(2025, 0, 1);

/** A product that all orders of a work take, beside those that are spread over all products. */
export const HOT_PRODUCT = 'hot';

export const usersOf = (orders) => orders / 10;
export const productsOf = (orders) => orders / 100;
/** All younger than a day, because the service deletes the older ones. */
export const keysOf = (orders) => orders / 10;

/** The id that the service would have given to row `i` of `rows`: a UUID of version 7, of that time of the year. */
export function idOf(i, rows) {
  const time = `lpad(to_hex(${FIRST_MS} + CAST(${i} AS bigint) * ${Math.floor(YEAR_MS / rows)}), 12, '0')`;
  return `overlay(${time} PLACING '-' FROM 9 FOR 0) || '-7000-8000-' || lpad(CAST(${i} AS text), 12, '0')`;
}

const randomUuid = (text) => `CAST(CAST(md5(${text}) AS uuid) AS text)`;
const random = (text, below) => `(hashtext(${text}) & 2147483647) % ${below}`;
const series = (rows) => `FROM generate_series(1, ${rows}) AS i`;

/** Two different products for each order. */
const linesOf = (products) =>
  `(SELECT id, request_id, position,
      'product-' || (${random('id', products)} + position * (1 + ${random('request_id', products - 1)})) % ${products} AS product_id
    FROM (SELECT id, request_id, unnest(ARRAY[0, 1]) AS position FROM orders) AS lines) AS lines`;

/** Each group of tables is filled in one transaction: a foreign key connects orders and their items. */
export const groups = {
  users: {
    users: (orders) =>
      `SELECT ${idOf('i', usersOf(orders))}, 'User ' || i, 'user' || i || '@example.com' ${series(usersOf(orders))}`,
  },
  stock: {
    stock: (orders) =>
      `SELECT 'product-' || i - 1, 1000000000 ${series(productsOf(orders))} UNION ALL SELECT '${HOT_PRODUCT}', 1000000000`,
  },
  orders: {
    orders: (orders) =>
      `SELECT ${idOf('i', orders)}, ${randomUuid('CAST(i AS text)')}, '2025-01-01T00:00:00.000Z' ${series(orders)}`,
    order_items: (orders) => `SELECT id, position, product_id, 1 FROM ${linesOf(productsOf(orders))}`,
  },
  reservations: {
    reservations: (orders) => `SELECT request_id, product_id, 1 FROM ${linesOf(productsOf(orders))}`,
  },
  keys: {
    idempotency_keys: (orders) =>
      `SELECT ${randomUuid("'key ' || i")}, repeat('f', 43), 201, repeat('x', 250),
         CAST(extract(epoch FROM now()) * 1000 AS bigint) - CAST(i AS bigint) * ${HALF_A_DAY_MS} / ${keysOf(orders)}
       ${series(keysOf(orders))}`,
  },
};

/** Their rows do not come in the order of the primary key, so its index is built when all are there. */
export const PRIMARY_KEYS_OF_UNORDERED = { reservations: 'request_id, product_id', idempotency_keys: 'key' };
