// An application for the command: one product costs what REPLAY_PRICE says, as after a change of the code.
import { createSqlitePool } from '@ambit/transaction/sqlite';

export const pool = createSqlitePool({ path: ':memory:' });
export const app = {
  fetch: async (request) => {
    const [row] = await pool.query('SELECT price FROM products WHERE name = $1', [
      new URL(request.url).searchParams.get('name'),
    ]);
    if (!row) throw new RangeError('There is no such product');
    return Response.json({ price: row.price + Number(process.env.REPLAY_PRICE ?? 0), id: crypto.randomUUID() });
  },
};
