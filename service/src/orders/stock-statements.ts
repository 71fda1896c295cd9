import { statement } from '../database/dialect.js';

/**
 * Takes what is wanted from stock and records it, or does neither where anything is short; gives the tracked products
 * with the levels they had. `$1` is the id of the request, `$2` a JSON array of `{ productId, quantity }` that names no
 * product twice.
 *
 * One statement, so that the rows of the stock are locked for one round trip and COMMIT. They are locked in one fixed
 * order, and before any is changed: two orders over the same products never wait for each other in a circle.
 *
 * `= ANY (ARRAY(...))`, because the planner expects few elements of an array, and finds each by the index. Of an array
 * parameter it would know how many there are, and therefore plan the statement again for every order.
 */
export const takeAndRecord = statement(
  ({ elements, forUpdate }) =>
    `WITH wanted AS (
       SELECT item.value ->> 'productId' AS product_id, CAST(item.value ->> 'quantity' AS integer) AS quantity
       FROM ${elements('$2')} AS item
     ), tracked AS (
       SELECT product_id, level FROM stock WHERE product_id = ANY (ARRAY(SELECT product_id FROM wanted))
       ORDER BY product_id ${forUpdate}
     ), short AS (
       SELECT product_id FROM tracked JOIN wanted USING (product_id) WHERE level < quantity
     ), taken AS (
       UPDATE stock SET level = stock.level - quantity FROM tracked JOIN wanted USING (product_id)
       WHERE stock.product_id = tracked.product_id AND stock.product_id = ANY (ARRAY(SELECT product_id FROM wanted))
         AND NOT EXISTS (SELECT 1 FROM short)
     ), recorded AS (
       INSERT INTO reservations (request_id, product_id, quantity)
       SELECT $1, product_id, quantity FROM wanted WHERE NOT EXISTS (SELECT 1 FROM short)
     )
     SELECT product_id, level FROM tracked`,
);

/** The same in three steps, for a transaction that nobody else can write beside. `$1` is the JSON array. */
export const selectLevels = statement(
  ({ elements }) =>
    `SELECT product_id, level FROM stock
     WHERE product_id IN (SELECT item.value ->> 'productId' FROM ${elements('$1')} AS item)`,
);

export const take = statement(
  ({ elements }) =>
    `UPDATE stock SET level = level - CAST(item.value ->> 'quantity' AS integer)
     FROM ${elements('$1')} AS item WHERE product_id = item.value ->> 'productId'`,
);

/** `$1` is the id of the request, `$2` the JSON array. */
export const record = statement(
  ({ elements }) =>
    `INSERT INTO reservations (request_id, product_id, quantity)
     SELECT CAST($1 AS text), item.value ->> 'productId', CAST(item.value ->> 'quantity' AS bigint)
     FROM ${elements('$2')} AS item`,
);
