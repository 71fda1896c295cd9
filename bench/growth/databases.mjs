import { readConfig } from '../../service/dist/index.js';
import { migrate } from '../../service/dist/database/migrate.js';
import { dialectOf } from '../../service/dist/database/dialect.js';
import { createPool } from '../../service/dist/database/pool.js';
import { createPostgresDatabase, MAIN, run } from '../shared/postgres.mjs';
import { groups, PRIMARY_KEYS_OF_UNORDERED } from './rows.mjs';

export const nameOf = (orders) => `growth_${orders}`;

export function urlOf(orders) {
  const url = new URL(MAIN);
  url.pathname = nameOf(orders);
  return url.href;
}

/** An empty database with the tables of the service. COMMIT does not wait for the disk, whose speed varies most. */
export async function create(orders) {
  await createPostgresDatabase(nameOf(orders));
  await run(MAIN, `ALTER DATABASE ${nameOf(orders)} SET synchronous_commit = off`);
  const { database } = readConfig({ DATABASE_URL: urlOf(orders) });
  const pool = createPool(database);
  try {
    await migrate(pool, dialectOf(database));
  } finally {
    await pool.close();
  }
  await run(urlOf(orders), 'CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
}

export const drop = (orders) => run(MAIN, `DROP DATABASE IF EXISTS ${nameOf(orders)} WITH (FORCE)`);

/** Fills the tables of a group from the start. Tables that are created or emptied in the same transaction need no log. */
export async function fill(orders, group) {
  const tables = groups[group];
  const names = Object.keys(tables);
  const statements = Object.entries(tables).map(([table, rows]) => {
    const insert = `INSERT INTO ${table} ${rows(orders)}`;
    const key = PRIMARY_KEYS_OF_UNORDERED[table];
    if (!key) return insert;
    return `ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey; ${insert}; ALTER TABLE ${table} ADD PRIMARY KEY (${key})`;
  });
  await run(
    urlOf(orders),
    `BEGIN;
     SET LOCAL session_replication_role = replica;
     SET LOCAL maintenance_work_mem = '1GB';
     TRUNCATE ${names.join(', ')};
     ${statements.join(';\n')};
     COMMIT`,
  );
  for (const name of names) await run(urlOf(orders), `VACUUM (ANALYZE) ${name}`);
}
