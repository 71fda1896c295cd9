/* oxlint-disable import/no-named-as-default-member -- older versions of `pg` have no named exports for ES modules */
// Our own pool over `pg`, a `Pool` that the application has, and a client of `pg` in a transaction.
import { fromPgPool } from '@ambit/drivers/pg';
import { pgClientOn } from '@ambit/orm/pg';
import pg from 'pg';
import { databaseUrl, postgres, prove, TABLE } from './transactions.mjs';

const store = (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]);
await prove(await postgres(), store);
await prove(fromPgPool(new pg.Pool({ connectionString: databaseUrl })), store);
const insert = (client, id) => client.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]);
await prove(
  await postgres(),
  (connection, id) => insert(pgClientOn(connection), id),
  async (connection, id) => {
    const client = pgClientOn(connection);
    await client.query('BEGIN');
    await insert(client, id);
    await client.query('ROLLBACK');
    throw new Error('undo');
  },
);
