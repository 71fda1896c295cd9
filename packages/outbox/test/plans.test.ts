import { hasMariadb, hasPostgres } from '@ambit/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IDatabasePool } from '@ambit/transaction';
import { DATABASES } from '@ambit/transaction/databases';
import { createOutbox, type Outbox } from '../src/index.js';
import { databaseOf, type OpenDatabase } from './support/databases.js';

const ROWS = Number(process.env['PLAN_ROWS'] ?? 20_000);
const FILL = `INSERT INTO outbox (id, topic, key, payload, created_at, state, due_at, settled_at)
  SELECT 'id ' || i, 'noted', 'key ' || (i % 1000), '{}', i, CASE WHEN i % 50 = 0 THEN $1 ELSE $2 END, $3, 0 FROM `;
const SERIES = {
  postgres: `generate_series(1, ${ROWS}) AS i`,
  sqlite: `(WITH RECURSIVE series (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < ${ROWS}) SELECT i FROM series)`,
};
/** The parameters of each statement; what is not listed inserts a row, or counts them all. */
const PARAMS = {
  claim: ['relay', 1000, 50, '["key 7","key 9"]'],
  renew: ['relay', 1000, '[1,2]'],
  remove: ['[1,2]'],
  keep: ['[1,2]'],
  release: ['[{"position":1,"attempts":1,"delay":5}]', 'relay'],
  sweep: [1000, 100],
  deadLetters: [100],
} as const;

/** The table may be filled with what is delivered, with what is due, or with what is due later. */
const FILLED: readonly [what: string, most: string, due: number | null][] = [
  ['delivered', 'delivered', null],
  ['pending', 'pending', null],
  ['postponed', 'pending', 4_000_000_000_000],
];

describe.each(FILLED)('in a table of which most is %s', (_, most, due) => {
  describe.each(['postgres', 'sqlite'] as const)('on %s', (dialect) => {
    describe.skipIf(dialect === 'postgres' && !hasPostgres)('no statement reads the whole table:', () => {
      let database: OpenDatabase;
      let pool: IDatabasePool;
      const { sql } = DATABASES[dialect].events('outbox');

      beforeAll(async () => {
        database = await databaseOf(dialect).open({ writers: 1 });
        pool = database.pool;
        await createOutbox(pool, { dialect }).createTable();
        await pool.query(FILL + SERIES[dialect], [most === 'delivered' ? 'pending' : 'delivered', most, due]);
        if (dialect === 'postgres') await pool.query('ANALYZE outbox');
      }, 300_000);
      afterAll(() => database.drop());

      test.each(Object.keys(PARAMS) as (keyof typeof PARAMS)[])('%s', async (name) => {
        for (const plan of await plansOf(sql[name], PARAMS[name])) {
          expect(plan).not.toMatch(/Seq Scan on outbox|SCAN outbox$/m);
          // A bitmap is made of all rows before the first is read; by its primary key or its key that is only those which are named.
          expect(plan).not.toMatch(/Bitmap Index Scan on outbox_(?!pkey|by_key)/);
        }
      });

      async function plansOf(statement: string, params: readonly unknown[]): Promise<string[]> {
        if (dialect === 'sqlite') {
          const rows = await pool.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${statement}`, params);
          return [rows.map(({ detail }) => detail).join('\n')];
        }
        const values = params.map((value) => (typeof value === 'number' ? value : `'${String(value)}'`)).join(', ');
        const plans: string[] = [];
        for (const mode of ['force_generic_plan', 'force_custom_plan']) {
          const connection = await pool.getConnection();
          await connection.beginTransaction();
          await connection.query(`SET LOCAL plan_cache_mode = ${mode}`);
          await connection.query(`PREPARE asked AS ${statement}`);
          const rows = await connection.query<{ 'QUERY PLAN': string }>(`EXPLAIN EXECUTE asked(${values})`);
          plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
          await connection.rollback();
          connection.release(true);
        }
        return plans;
      }
    });
  });
});

const MOST_ROWS_READ = 1500;
const FILL_MARIADB = `INSERT INTO outbox (id, topic, \`key\`, payload, created_at, state, due_at, settled_at)
  SELECT CONCAT('id ', seq), 'noted', CONCAT('key ', seq % 1000), '{}', seq, CASE WHEN seq % 50 = 0 THEN $1 ELSE $2 END, $3,
    CASE WHEN $2 = 'pending' THEN NULL ELSE 0 END
  FROM seq_1_to_${ROWS}`;
const table = DATABASES.mariadb.events('outbox');
const relay = '5c0d5ab6-3fd4-4a3a-8d5e-6e1a4f0a4c6f';

/** A statement of MariaDB may look harmless in its plan: what counts is how many rows the server has read. */
describe.skipIf(!hasMariadb).each([
  ['delivered', 'delivered', null],
  ['dead', 'dead', null],
  ['pending', 'pending', null],
  ['postponed', 'pending', 4_000_000_000_000],
])('in a table of MariaDB of which most is %s, few rows are read to', (_state, most, due) => {
  let database: OpenDatabase;
  let pool: IDatabasePool;
  let outbox: Outbox;

  beforeAll(async () => {
    database = await databaseOf('mariadb').open({ writers: 1 });
    pool = database.pool;
    outbox = createOutbox(pool, { dialect: 'mariadb' });
    await outbox.createTable();
    await pool.query(FILL_MARIADB, [most === 'delivered' ? 'pending' : 'delivered', most, due]);
  }, 300_000);
  afterAll(() => database.drop());

  const { sql } = table;
  const positions = '[1,2,50]';
  const released = '[{"position":1,"attempts":1,"delay":5}]';
  test.each<[string, () => Promise<unknown>]>([
    ['publish', () => outbox.publish(pool, { topic: 'noted', key: 'key 7', payload: 1 })],
    ['claim', () => table.claim(pool, { relay, claimMs: 1000, limit: 50, keys: ['key 7', 'key 9'] })],
    ['claim once more', () => table.claim(pool, { relay, claimMs: 1000, limit: 50, keys: ['key 7', 'key 9'] })],
    ['renew', () => pool.query(sql.renew, [relay, 1000, positions])],
    ['release', () => pool.query(sql.release, [released, relay])],
    ['keep', () => pool.query(sql.keep, [positions])],
    ['remove', () => pool.query(sql.remove, [positions])],
    ['sweep', () => table.sweep(pool, 1000, 100)],
    ['list dead letters', () => pool.query(sql.deadLetters, [100])],
  ])('%s', async (_, operation) => {
    await pool.query('FLUSH STATUS');
    await operation();
    const read = await pool.query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Handler_read%'");
    expect(read.reduce((sum, { Value: value }) => sum + Number(value), 0)).toBeLessThan(MOST_ROWS_READ);
  });
});
