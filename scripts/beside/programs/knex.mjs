import { knexOn } from '@ambit/orm/knex';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { postgres, prove } from './transactions.mjs';

for (const [client, pool] of /** @type {const} */ ([
  ['pg', await postgres()],
  ['sqlite3', createSqlitePool({ path: ':memory:' })],
])) {
  await prove(
    pool,
    'beside_knex',
    (connection, id) => knexOn(connection, { client })('beside_knex').insert({ id }),
    (connection, id) =>
      knexOn(connection, { client }).transaction(async (inner) => {
        await inner('beside_knex').insert({ id });
        throw new Error('undo');
      }),
  );
}
