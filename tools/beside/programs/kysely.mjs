import { kyselyOn } from '@ambit/orm/kysely';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { postgres, prove, TABLE } from './transactions.mjs';

for (const [dialect, pool] of /** @type {const} */ ([
  ['postgres', await postgres()],
  ['sqlite', createSqlitePool({ path: ':memory:' })],
])) {
  const insert = (db, id) => db.insertInto(TABLE).values({ id }).execute();
  await prove(
    pool,
    (connection, id) => insert(kyselyOn(connection, { dialect }), id),
    (connection, id) =>
      kyselyOn(connection, { dialect })
        .transaction()
        .execute(async (inner) => {
          await insert(inner, id);
          throw new Error('undo');
        }),
  );
}
// On a pool, outside of transactions.
const pool = createSqlitePool({ path: ':memory:' });
await pool.query('CREATE TABLE orders (id TEXT)');
await kyselyOn(pool, { dialect: 'sqlite' }).insertInto('orders').values({ id: 'a' }).execute();
const rows = await kyselyOn(pool, { dialect: 'sqlite' }).selectFrom('orders').selectAll().execute();
if (rows.length !== 1) throw new Error('kyselyOn(pool) did not store the row');
await pool.close();
