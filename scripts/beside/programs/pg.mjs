/* oxlint-disable import/no-named-as-default-member -- older versions of `pg` have no named exports for ES modules */
// Our own pool over `pg`, and a `Pool` that the application has.
import { fromPgPool } from '@ambit/drivers/pg';
import pg from 'pg';
import { databaseUrl, postgres, prove, TABLE } from './transactions.mjs';

const store = (connection, id) => connection.query(`INSERT INTO ${TABLE} VALUES ($1)`, [id]);
await prove(await postgres(), store);
await prove(fromPgPool(new pg.Pool({ connectionString: databaseUrl })), store);
