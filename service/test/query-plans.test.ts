import type { IDatabasePool } from '@ambit/transaction';
import { expect, test } from 'vitest';
import { readStock } from '../src/commands.js';
import { engineOf } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { App } from './support/app.js';
import { openDatabaseOfServer, postgres } from './support/databases.js';

/** One row of each table, for a number `i`. */
const ROW: Readonly<Record<string, string>> = {
  users: `${idOfRow('i')}, 'Ada', 'ada@example.org'`,
  orders: `${idOfRow('i')}, ${idOfRow('i')}, '2026-01-01T00:00:00.000Z'`,
  order_items: `${idOfRow('i')}, 0, 'product ' || i, 1`,
  stock: `'product ' || i, 1000000`,
  reservations: `${idOfRow('i')}, 'product ' || i, 1`,
  idempotency_keys: `'key ' || i, '', 201, '{}', 4000000000000 + i`,
};
/** These do not grow, or are read by statements whose plans are tested in their package. */
const FIXED = ['migrations', 'migration_lock', 'outbox'];
/** With PLAN_ROWS=1000000 it takes most of a minute. */
const ROWS = Number(process.env['PLAN_ROWS'] ?? 10_000);

function idOfRow(number: string): string {
  return `'01900000-0000-7000-8000-' || lpad(CAST(${number} AS text), 12, '0')`;
}

async function fill(pool: IDatabasePool): Promise<void> {
  const tables = await pool.query<{ name: string }>('SELECT relname AS name FROM pg_stat_user_tables');
  const connection = await pool.getConnection();
  // No row violates a foreign key, and checking that would take longest.
  await connection.query('SET session_replication_role = replica');
  for (const { name } of tables.filter((table) => !FIXED.includes(table.name))) {
    const row = ROW[name] ?? expect.fail(`Say in ${import.meta.url} what a row of ${name} holds`);
    await connection.query(`INSERT INTO ${name} SELECT ${row} FROM generate_series(1, ${ROWS}) AS i`);
    await connection.query(`ANALYZE ${name}`);
  }
  connection.release(true);
}

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: ['product 1', 'product 2', 'product 1'].map((productId) => ({ productId, quantity: 1 })) };

/** All that a client, a timer or a command can cause, except what reads a whole table on purpose: both lists. */
async function doEverything(app: App): Promise<void> {
  for (const command of ['set apple 100', 'set plum 5', 'untrack plum'])
    await readStock(command.split(' '))(app.pool, app.container.resolve('ISqlDialect'));
  for (const [path, body] of [['/api/users', ADA] as const, ['/api/orders', ORDER] as const]) {
    const key = { 'idempotency-key': path };
    // The second request with the key is a replay.
    for (const headers of [{}, key, key])
      expect((await app.request({ method: 'POST', path, body, headers })).status).toBe(201);
  }
  // A scan of the table would find the first of them without the others.
  const last = `01900000-0000-7000-8000-${String(ROWS).padStart(12, '0')}`;
  for (const target of [`/${last}`, `?after=${last}`, '?limit=2', `?limit=2&after=${last}`])
    expect((await app.request({ path: `/api/users${target}` })).status).toBe(200);
  expect((await app.request({ path: '/health/ready' })).status).toBe(200);
  await app.container.resolve('IIdempotency').removeExpired();
}

const READ = `SELECT relname AS name, CAST(seq_tup_read + (
    SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE pg_stat_user_indexes.relid = tables.relid
  ) AS integer) AS rows FROM pg_stat_user_tables AS tables`;
const OTHERS = 'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

// PostgreSQL counts what it reads, for foreign keys as well. `npm run check -- transactions` holds SQLite to the same.
test.skipIf(postgres.missing).each(['force_generic_plan', 'force_custom_plan'])(
  'no statement of the service reads a whole table, with %s',
  async (mode) => {
    await using database = await openDatabaseOfServer();
    const url = new URL(database.env['DATABASE_URL'] ?? '');
    url.searchParams.set('options', `-c plan_cache_mode=${mode}`);
    // Filling the tables takes longer than the time limit of a statement.
    const env = { DATABASE_URL: url.href, QUERY_TIMEOUT_MS: '300000' };
    const app = await App.start('fastify', env);
    await fill(app.pool);
    await doEverything(app);
    await app.stop();

    await using pool = engineOf(readConfig(env).database).createPool();
    // A session adds what it has counted when it ends.
    await expect.poll(() => pool.query(OTHERS)).toEqual([]);
    const read = await pool.query<{ name: string; rows: number }>(READ);
    const grown = read.filter(({ name }) => !FIXED.includes(name));
    expect(grown.filter(({ rows }) => rows >= ROWS)).toEqual([]);
    expect(grown.filter(({ rows }) => rows > 0).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['users', 'orders', 'stock', 'idempotency_keys']),
    );
  },
  300_000,
);
