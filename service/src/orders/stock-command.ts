import type { IDatabasePool } from '@ambit/transaction';

const USAGE = `npm run stock -- list                      shows every product with a stock level
npm run stock -- set <productId> <level>   sets the stock level of a product
npm run stock -- untrack <productId>       forgets the level: the product can be ordered freely`;

const MOST = 1_000_000_000;

/** What was asked for cannot be done; the message says what to write instead. */
export class StockError extends Error {
  override readonly name = 'StockError';
  /** EX_USAGE of sysexits.h. */
  readonly exitCode = 64;
}

/** Runs one command and gives the lines to print. Safe beside a running service. */
export async function stock(
  pool: IDatabasePool,
  [command, productId, level, ...rest]: readonly string[],
): Promise<string[]> {
  if (command === 'list' && productId === undefined) return list(pool);
  if (command === 'set' && productId && level !== undefined && rest.length === 0) return set(pool, productId, level);
  if (command === 'untrack' && productId && level === undefined) return untrack(pool, productId);
  throw new StockError(USAGE);
}

async function list(pool: IDatabasePool): Promise<string[]> {
  const rows = await pool.query<{ product_id: string; level: number }>(
    'SELECT product_id, level FROM stock ORDER BY product_id',
  );
  if (rows.length === 0) return ['No product has a stock level: all can be ordered freely.'];
  return rows.map(({ product_id, level }) => `${product_id}\t${level}`);
}

async function set(pool: IDatabasePool, productId: string, text: string): Promise<string[]> {
  const level = /^\d+$/.test(text) ? Number(text) : NaN;
  if (!(level <= MOST)) throw new StockError(`The level must be a whole number from 0 to ${MOST}, not ${text}`);
  if (Array.from(productId).length > 200) throw new StockError('A product id has at most 200 characters');
  await pool.query(
    'INSERT INTO stock (product_id, level) VALUES ($1, $2) ON CONFLICT (product_id) DO UPDATE SET level = excluded.level',
    [productId, level],
  );
  return [`${productId}\t${level}`];
}

async function untrack(pool: IDatabasePool, productId: string): Promise<string[]> {
  const gone = await pool.query('DELETE FROM stock WHERE product_id = $1 RETURNING product_id', [productId]);
  return [gone.length > 0 ? `${productId} is no longer tracked` : `${productId} was not tracked`];
}
