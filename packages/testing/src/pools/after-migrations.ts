import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import type { DatabasePool, TransactionError } from '@ambit/transaction';
import type { SharedDatabase } from './inherits-nothing.js';

/** The type of a column before and after, and a value that the old type would change or refuse. */
const MIGRATIONS: readonly (readonly [before: string, after: string, old: unknown, value: unknown])[] = [
  ['int', 'text', 1, '007'],
  ['int', 'bigint', 1, 3_000_000_000],
  ['smallint', 'int', 1, 40_000],
  ['int', 'numeric', 1, '1.5'],
  ['real', 'double precision', 1.5, '0.1'],
  ['double precision', 'numeric', 1.5, '0.12345678901234567890'],
  ['numeric', 'text', 1, '1e3'],
  ['timestamp', 'timestamptz', '2024-01-01', '2024-01-01T00:00:00+09:00'],
  ['timestamptz', 'timestamp', '2024-01-01', '2024-01-01T00:00:00+09:00'],
  ['date', 'timestamp', '2024-01-01', '2024-01-01 12:34:56'],
  ['date', 'text', '2024-01-01', '1 Jan 2024'],
  ['time', 'text', '12:00', '7 PM'],
  ['interval', 'text', '1 hour', '90 minutes'],
  ['bytea', 'text', Buffer.from('a'), 'plain'],
  ['text', 'bytea', 'a', Buffer.from([0, 255])],
  ['char(4)', 'text', 'ab', 'ab  '],
  ['uuid', 'text', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'],
  ['boolean', 'text', true, 'yes'],
  ['jsonb', 'json', '{}', '{"b": 1, "a": 2}'],
  ['inet', 'text', '10.0.0.1', '10.1.2.3/32'],
  ['int[]', 'text[]', '{1}', '{007}'],
];

type Add = (title: string, run: () => Promise<void>) => void;

/** A statement means the same on a connection that has run it before as on a new one, whatever has changed. */
export function meansTheSameAfterMigrations(add: Add, database: () => SharedDatabase): void {
  const INSERT = 'INSERT INTO moved (id, value) VALUES ($1, $2) RETURNING value::text';
  const READ = 'SELECT count(*)::int AS n FROM moved WHERE value = $1';
  const ALIKE = 'SELECT count(*)::int AS n FROM moved WHERE value::text = $1';

  const outcome = (running: Promise<unknown>): Promise<unknown> =>
    running.catch((error: unknown) => ({ sqlState: (error as TransactionError).sqlState }));
  /** Often enough for the server to keep a plan. */
  const use = async (pool: DatabasePool, old: unknown): Promise<void> => {
    for (let id = 1; id <= 6; id += 1) {
      await pool.query(INSERT, [id, old]);
      await outcome(pool.query(READ, [old]));
      await outcome(pool.query(ALIKE, [old]));
    }
  };

  for (const [before, after, old, value] of MIGRATIONS) {
    add(`stores and finds what a new connection would after ${before} has become ${after}`, async () => {
      const pool = await database().pool({ max: 1 });
      await pool.query(`CREATE TABLE moved (id int PRIMARY KEY, value ${before})`);
      await use(pool, old);
      const migrating = await database().pool({ max: 1 });
      const convert =
        after === 'bytea' ? "convert_to(value, 'UTF8')" : before === 'bytea' ? "encode(value, 'hex')" : 'value';
      await migrating.query(`ALTER TABLE moved ALTER COLUMN value TYPE ${after} USING ${convert}::${after}`);

      const outcomes = async (on: DatabasePool, id: number): Promise<unknown[]> => {
        const connection = await on.getConnection();
        await connection.beginTransaction();
        const inTransaction = await outcome(connection.query(INSERT, [id, value]));
        await connection.rollback();
        connection.release();
        const stored = await outcome(on.query(INSERT, [id, value]));
        return [inTransaction, stored, await outcome(on.query(READ, [value])), await outcome(on.query(ALIKE, [value]))];
      };
      const found = await outcomes(pool, 7);
      await migrating.query('DELETE FROM moved WHERE id = 7');
      expect(found).toEqual(await outcomes(await database().pool({ max: 1 }), 7));
      expect(found[1]).toEqual([{ value: expect.any(String) as string }]);
    });
  }

  add('takes the types of the schema that a transaction works in', async () => {
    const pool = await database().pool({ max: 1 });
    await pool.query("SELECT set_config('search_path', current_schema() || ', pg_temp', false)");
    const insert = async (type: string): Promise<unknown> => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query(`CREATE TEMP TABLE mine (value ${type}) ON COMMIT DROP`);
      const stored = await connection.query('INSERT INTO mine (value) VALUES ($1) RETURNING value::text', ['007']);
      await connection.commit();
      connection.release();
      return stored;
    };
    expect([await insert('int'), await insert('text')]).toEqual([[{ value: '7' }], [{ value: '007' }]]);
  });

  add('reads a time in quotes when the statement runs, in the time zone of its transaction', async () => {
    const pool = await database().pool({ max: 1 });
    const now = "SELECT 'now'::timestamptz::text AS now";
    const first = await pool.query(now);
    await pause(2);
    expect(await pool.query(now)).not.toEqual(first);

    const hourIn = async (zone: string): Promise<unknown> => {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      await connection.query(`SET LOCAL TimeZone = '${zone}'`);
      const sql = "SELECT extract(hour FROM '2024-01-01'::timestamptz AT TIME ZONE 'UTC')::int AS hour";
      const rows = await connection.query(sql);
      await connection.commit();
      connection.release();
      return rows;
    };
    expect([await hourIn('UTC'), await hourIn('Asia/Tokyo')]).toEqual([[{ hour: 0 }], [{ hour: 15 }]]);
  });
}
