import type { IDatabasePool, IPooledConnection } from '@ambit/transaction';
import type { Executed } from './executed-statements.js';

const id = "CONCAT('01900000-0000-7000-8000-', LPAD(seq, 12, '0'))";
const product = "CONCAT('product ', seq)";
/** One row of each table, for a number `seq`; the tables that others refer to first. */
const ROWS: Readonly<Record<string, string>> = {
  users: `${id}, 'Ada', 'ada@example.org'`,
  orders: `${id}, ${id}, '2026-01-01T00:00:00.000Z'`,
  order_items: `${id}, 0, ${product}, 1`,
  stock: `${product}, 1000000`,
  reservations: `${id}, ${product}, 1`,
  idempotency_keys: `CONCAT('key ', seq), '', 201, '{}', 1700000000000 + seq, NULL`,
};
/** These do not grow, or are read by statements whose plans are tested in their package. */
const FIXED = ['migrations', 'migration_lock', 'outbox', 'outbox_turns'];

/** Fills every table up to so many rows. */
export async function fill(pool: IDatabasePool, rows: number): Promise<void> {
  const tables = await pool.query<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  const unknown = tables.filter(({ name }) => !FIXED.includes(name) && !(name in ROWS));
  if (unknown.length > 0) throw new Error(`Say in ${import.meta.url} what a row of ${unknown[0]!.name} holds`);
  for (const [name, row] of Object.entries(ROWS)) {
    await pool.query(`INSERT IGNORE INTO ${name} SELECT ${row} FROM seq_1_to_${rows}`);
    await pool.query(`ANALYZE TABLE ${name}`);
  }
}

/** How many rows of tables and indexes the server reads for a statement, which is rolled back. */
export async function rowsRead(pool: IDatabasePool, { sql, params }: Executed): Promise<number> {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    const before = await reads(connection);
    // A key that was stored when the statement was recorded is stored.
    await connection.query(sql, params).catch(refusesDuplicates);
    // The first call has read the counters themselves.
    const counted = (await reads(connection)) - before;
    await connection.rollback();
    return counted;
  } finally {
    connection.release();
  }
}

function refusesDuplicates(error: unknown): void {
  if ((error as { sqlState?: string }).sqlState !== '23505') throw error;
}

async function reads(connection: IPooledConnection): Promise<number> {
  const rows = await connection.query<{ Value: string }>("SHOW SESSION STATUS LIKE 'Handler_read%'");
  return rows.reduce((sum, { Value: value }) => sum + Number(value), 0);
}
