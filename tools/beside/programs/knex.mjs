import { knexOn } from '@ambit/orm/knex';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { postgres, prove, TABLE } from './transactions.mjs';

for (const [client, pool] of /** @type {const} */ ([
  ['pg', await postgres()],
  ['sqlite3', createSqlitePool({ path: ':memory:' })],
])) {
  await prove(
    pool,
    (connection, id) => knexOn(connection, { client })(TABLE).insert({ id }),
    (connection, id) =>
      knexOn(connection, { client }).transaction(async (inner) => {
        await inner(TABLE).insert({ id });
        throw new Error('undo');
      }),
  );
}
