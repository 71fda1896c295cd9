// What the query builders and clients cost on a transaction's connection, in CPU time of this process, so that other work on the machine
// hardly matters: node tools/on-node.mjs 24 test/orm/bench/orms.mjs
// Needs `node test/libraries/prepare.mjs` before, and PostgreSQL at DATABASE_URL.
import { Container, Registration, singleton } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';
import { drizzleOn } from '@ambit/orm/drizzle';
import { knexOn } from '@ambit/orm/knex';
import { kyselyOn } from '@ambit/orm/kysely';
import { pgClientOn } from '@ambit/orm/pg';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import knex from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { Pool } from 'pg';

const connectionString = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const ROUNDS = 15;

const rows = pgTable('ambit_bench_orms', { id: integer().primaryKey(), name: text().notNull() });
const schema = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [
    `table${index}`,
    pgTable(`table${index}`, { id: integer(), name: text() }),
  ]),
);

const app = new Container();
app.addRegistration(
  Registration.fromFactory(() => createPostgresPool({ connectionString, max: 1 }))
    .pipe(singleton())
    .to('IDatabasePool'),
);
const own = {
  kysely: new Kysely({ dialect: new PostgresDialect({ pool: new Pool({ connectionString, max: 1 }) }) }),
  pool: new Pool({ connectionString, max: 1 }),
  knex: knex({ client: 'pg', connection: connectionString, pool: { min: 1, max: 1 } }),
};
const ownDrizzle = drizzle(own.pool);

/** @param {() => unknown} work @param {number} times */
async function cpuPerCall(work, times) {
  const start = process.cpuUsage();
  for (let index = 0; index < times; index += 1) await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / times;
}

/** Each in turn, round after round; the least disturbed round of each counts. */
/** @param {string} title @param {Record<string, () => Promise<number>>} contestants */
async function compare(title, contestants) {
  /** @type {Record<string, number>} */
  const best = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, measure] of Object.entries(contestants))
      best[name] = Math.min(best[name] ?? Infinity, await measure());
  }
  console.log(title);
  for (const [name, microseconds] of Object.entries(best))
    console.log(`  ${name.padEnd(40)} ${microseconds.toFixed(1)} µs`);
}

const CREATED = 300;
const SELECTED = 200;
const selectWithKysely = (db) => () => db.selectFrom('ambit_bench_orms').selectAll().where('id', '=', 1).execute();
const selectWithDrizzle = (db) => () => db.select().from(rows).where(eq(rows.id, 1));
const selectWithKnex = (db) => () => db('ambit_bench_orms').select().where('id', 1);
const selectWithPg = (client) => () => client.query('SELECT * FROM ambit_bench_orms WHERE id = $1', [1]);
const inTransaction = (work) => () => runInTransaction(app, (scope) => work(scope.resolve('IConnection')));

const pool = app.resolve('IDatabasePool');
await pool.query('CREATE TABLE ambit_bench_orms (id INTEGER PRIMARY KEY, name TEXT NOT NULL)');
try {
  await pool.query("INSERT INTO ambit_bench_orms VALUES (1, 'one')");
  await compare('Creating it for a transaction', {
    kyselyOn: inTransaction((connection) => cpuPerCall(() => kyselyOn(connection), CREATED)),
    drizzleOn: inTransaction((connection) => cpuPerCall(() => drizzleOn(connection), CREATED)),
    'drizzleOn with a schema of 20 tables': inTransaction((connection) =>
      cpuPerCall(() => drizzleOn(connection, { schema }), CREATED),
    ),
    knexOn: inTransaction((connection) => cpuPerCall(() => knexOn(connection), CREATED)),
    pgClientOn: inTransaction((connection) => cpuPerCall(() => pgClientOn(connection), CREATED)),
  });
  await compare('A SELECT of one row in a transaction', {
    'IConnection.query()': inTransaction((connection) =>
      cpuPerCall(() => connection.query('SELECT * FROM ambit_bench_orms WHERE id = $1', [1]), SELECTED),
    ),
    'Kysely, kyselyOn()': inTransaction((connection) => cpuPerCall(selectWithKysely(kyselyOn(connection)), SELECTED)),
    'Kysely on its own driver': () =>
      own.kysely.transaction().execute((trx) => cpuPerCall(selectWithKysely(trx), SELECTED)),
    'Drizzle, drizzleOn()': inTransaction((connection) =>
      cpuPerCall(selectWithDrizzle(drizzleOn(connection)), SELECTED),
    ),
    'Drizzle on its own driver': () => ownDrizzle.transaction((tx) => cpuPerCall(selectWithDrizzle(tx), SELECTED)),
    'Knex, knexOn()': inTransaction((connection) => cpuPerCall(selectWithKnex(knexOn(connection)), SELECTED)),
    'Knex on its own driver': () => own.knex.transaction((trx) => cpuPerCall(selectWithKnex(trx), SELECTED)),
    'pg, pgClientOn()': inTransaction((connection) => cpuPerCall(selectWithPg(pgClientOn(connection)), SELECTED)),
    'pg on its own driver': async () => {
      const client = await own.pool.connect();
      await client.query('BEGIN');
      const cost = await cpuPerCall(selectWithPg(client), SELECTED);
      await client.query('COMMIT');
      client.release();
      return cost;
    },
  });
} finally {
  await pool.query('DROP TABLE ambit_bench_orms');
  await Promise.all([app.dispose(), own.kysely.destroy(), own.pool.end(), own.knex.destroy()]);
}
