import type { IDatabasePool } from '@ambit/transaction';
import type { ISqlDialect } from '../database/engine.js';
import { ExplainedError } from '../problem.js';

const USAGE = `npm run stock -- list                      shows every product with a stock level
npm run stock -- set <productId> <level>   sets the stock level of a product
npm run stock -- untrack <productId>       forgets the level: the product can be ordered freely`;

const MAX_LEVEL = 1_000_000_000;

/** Returns the lines to print. Safe to run while the service runs. */
export type StockCommand = (pool: Pick<IDatabasePool, 'query'>, dialect: ISqlDialect) => Promise<string[]>;

export function readCommand([command, productId, level, ...rest]: readonly string[]): StockCommand {
  if (command === 'list' && productId === undefined) return list;
  if (command === 'set' && productId && level !== undefined && rest.length === 0) return set(productId, level);
  if (command === 'untrack' && productId && level === undefined) return untrack(productId);
  throw new ExplainedError(USAGE, 64);
}

const list: StockCommand = async (pool) => {
  const rows = await pool.query<{ product_id: string; level: number }>(
    'SELECT product_id, level FROM stock ORDER BY product_id',
  );
  if (rows.length === 0) return ['No product has a stock level: all can be ordered freely.'];
  return rows.map(({ product_id, level }) => `${product_id}\t${level}`);
};

function set(productId: string, text: string): StockCommand {
  const level = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(level <= MAX_LEVEL))
    throw new ExplainedError(`The level must be a whole number from 0 to ${MAX_LEVEL}, not ${text}`, 64);
  if (Array.from(productId).length > 200) throw new ExplainedError('A product id has at most 200 characters', 64);
  if (/\p{Cc}/u.test(productId))
    throw new ExplainedError('A product id must not contain tabs, line breaks or other control characters', 64);
  return async (pool, { orReplace }) => {
    await pool.query(`INSERT INTO stock (product_id, level) VALUES ($1, $2) ${orReplace('product_id', 'level')}`, [
      productId,
      level,
    ]);
    return [`${productId}\t${level}`];
  };
}

function untrack(productId: string): StockCommand {
  return async (pool) => {
    const removed = await pool.query('DELETE FROM stock WHERE product_id = $1 RETURNING product_id', [productId]);
    return [removed.length > 0 ? `${productId} is no longer tracked` : `${productId} was not tracked`];
  };
}
