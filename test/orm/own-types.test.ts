import { type IConnection, runInTransaction } from '@ambit/transaction';
import { drizzleOn } from '@ambit/orm/drizzle';
import { knexOn } from '@ambit/orm/knex';
import { kyselyOn } from '@ambit/orm/kysely';
import { drizzle } from 'drizzle-orm/node-postgres';
import * as pgCore from 'drizzle-orm/pg-core';
import knex from 'knex';
import { Kysely, PostgresDialect, sql } from 'kysely';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type App, openApp } from '../libraries/app.js';

/** One column of each type that a driver or an ORM may parse in its own way. */
const COLUMNS = {
  int2: '1::int2',
  int8: '9007199254740993::int8',
  numeric: '1.50::numeric',
  float8: "'NaN'::float8",
  bool: 'true',
  text: "'a'::text",
  bytes: "'\\x00ff'::bytea",
  stamp: "'2024-02-29 12:34:56.789'::timestamp",
  stamptz: "'2024-02-29 12:34:56.789+02'::timestamptz",
  day: "'2024-02-29'::date",
  span: "'1 day 02:03:04'::interval",
  json: `'{"a":[1,null]}'::json`,
  jsonb: `'{"a":[1,null]}'::jsonb`,
  ints: "'{1,NULL,3}'::int4[]",
  texts: `'{a,"b,c"}'::text[]`,
  stamps: "'{2024-02-29 12:34:56+00}'::timestamptz[]",
  uuid: "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
  point: "'(1,2)'::point",
  nothing: 'NULL::int8',
};
const table = pgCore.pgTable('samples', {
  int8: pgCore.bigint({ mode: 'bigint' }),
  numeric: pgCore.numeric(),
  stamp: pgCore.timestamp(),
  stamptz: pgCore.timestamp({ withTimezone: true }),
  day: pgCore.date(),
  span: pgCore.interval(),
  json: pgCore.json(),
  ints: pgCore.integer().array(),
  stamps: pgCore.timestamp({ withTimezone: true }).array(),
  point: pgCore.point(),
});

let app: App;
let pool: Pool;

beforeAll(async () => {
  app = await openApp('PostgreSQL');
  const columns = Object.entries(COLUMNS).map(([name, value]) => `${value} AS "${name}"`);
  await app.pool.query(`CREATE TABLE samples AS SELECT ${columns.join(', ')}`);
  pool = new Pool({ connectionString: app.address, max: 1 });
});
afterAll(async () => {
  await pool.end();
  await app.drop();
});

const inTransaction = <T>(work: (connection: IConnection) => Promise<T>): Promise<T> =>
  runInTransaction(app.container, (scope) => work(scope.resolve<IConnection>('IConnection')));

it('Kysely gives the rows that it gives on its own driver', async () => {
  const own = new Kysely<{ samples: object }>({ dialect: new PostgresDialect({ pool }) });
  const ours = await inTransaction((connection) => sql`SELECT * FROM samples`.execute(kyselyOn(connection)));
  expect(ours.rows).toEqual((await sql`SELECT * FROM samples`.execute(own)).rows);
});

it('Drizzle gives the rows that it gives on its own driver, raw ones too', async () => {
  const own = drizzle(pool);
  const mapped = await inTransaction((connection) => drizzleOn(connection).select().from(table));
  expect(mapped).toEqual(await own.select().from(table));
  const raw = await inTransaction((connection) => drizzleOn(connection).execute('SELECT * FROM samples'));
  expect(raw.rows).toEqual((await own.execute('SELECT * FROM samples')).rows);
});

it('Knex gives the rows that it gives on its own driver', async () => {
  const own = knex({ client: 'pg', connection: app.address });
  const ours = await inTransaction(async (connection) => knexOn(connection)('samples').select());
  expect(ours).toEqual(await own('samples').select());
  await own.destroy();
});
