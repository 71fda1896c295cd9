import { sqlFor } from '../database/dialect.js';

/**
 * Takes the items from stock and records them, or does neither if the stock of any product is too low. Returns the tracked
 * products with their levels before. `$1` is the id of the request, `$2` a JSON array of `{ productId, quantity }` that
 * names each product once.
 *
 * It is one statement, so that the rows of the stock are locked for one round trip and COMMIT. They are locked in one fixed
 * order, before any is changed, so two orders for the same products cannot deadlock.
 *
 * `= ANY (ARRAY(...))` makes the planner expect few elements and use the index for each. With an array parameter it would
 * plan the statement again for every order.
 */
export const TAKE_AND_RECORD = sqlFor(
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

/** The same in three steps, for a transaction that is the only one that writes. `$1` is the JSON array. */
export const SELECT_LEVELS = sqlFor(
  ({ elements }) =>
    `SELECT product_id, level FROM stock
     WHERE product_id IN (SELECT item.value ->> 'productId' FROM ${elements('$1')} AS item)`,
);

export const TAKE = sqlFor(
  ({ elements }) =>
    `UPDATE stock SET level = level - CAST(item.value ->> 'quantity' AS integer)
     FROM ${elements('$1')} AS item WHERE product_id = item.value ->> 'productId'`,
);

/** `$1` is the id of the request, `$2` the JSON array. */
export const RECORD = sqlFor(
  ({ elements }) =>
    `INSERT INTO reservations (request_id, product_id, quantity)
     SELECT CAST($1 AS text), item.value ->> 'productId', CAST(item.value ->> 'quantity' AS bigint)
     FROM ${elements('$2')} AS item`,
);
