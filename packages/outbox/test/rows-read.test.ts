import { hasMariadb } from '@ambit/test-kit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IDatabasePool } from '@ambit/transaction';
import { DATABASES } from '@ambit/transaction/databases';
import { createOutbox, type Outbox } from '../src/index.js';
import { databaseOf, type OpenDatabase } from './support/databases.js';

const ROWS = Number(process.env['PLAN_ROWS'] ?? 20_000);
const MOST_ROWS_READ = 1500;
const FILL = `INSERT INTO outbox (id, topic, \`key\`, payload, created_at, state, due_at, settled_at)
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
    await pool.query(FILL, [most === 'delivered' ? 'pending' : 'delivered', most, due]);
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
