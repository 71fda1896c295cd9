import type { IDatabasePool, IPooledConnection } from '@ambit/transaction';
import type { Executed } from './executed-statements.js';

/** One row of each table, for a number `i`. */
const ROWS: Readonly<Record<string, string>> = {
  users: `${id('i')}, 'Ada', 'ada@example.org'`,
  orders: `${id('i')}, ${id('i')}, '2026-01-01T00:00:00.000Z'`,
  order_items: `${id('i')}, 0, 'product ' || i, 1`,
  stock: `'product ' || i, 1000000`,
  reservations: `${id('i')}, 'product ' || i, 1`,
  idempotency_keys: `'key ' || i, '', 201, '{}', 1700000000000 + i`,
};
/** These do not grow, or are read by statements whose plans are tested in their package. */
const FIXED = ['migrations', 'migration_lock', 'outbox'];
/** Small tables that PostgreSQL scans for good reason: with scans disabled, the plan shows whether an index could be used. */
const FEW_ROWS = 100;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

function id(number: string): string {
  return `'01900000-0000-7000-8000-' || lpad(CAST(${number} AS text), 12, '0')`;
}

/** Fills every table up to so many rows. */
export async function fill(pool: IDatabasePool, rows: number): Promise<void> {
  const tables = await pool.query<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
  );
  await inTransaction(pool, async (connection) => {
    // No row violates a foreign key, and checking that would take longest.
    await connection.query('SET LOCAL session_replication_role = replica');
    for (const { name } of tables) {
      if (FIXED.includes(name)) continue;
      const row = ROWS[name];
      if (row === undefined) throw new Error(`Say in ${import.meta.url} what a row of ${name} holds`);
      await connection.query(
        `INSERT INTO ${name} SELECT ${row} FROM generate_series(1, ${rows}) AS i ON CONFLICT DO NOTHING`,
      );
      await connection.query(`ANALYZE ${name}`);
    }
  });
}

/** The statements that find the row which a foreign key refers to. PostgreSQL executes them itself. */
export function foreignKeyChecks(pool: IDatabasePool): Promise<Executed[]> {
  return pool.query<{ sql: string; params: string[] }>(
    `SELECT format('SELECT 1 FROM ONLY %s AS x WHERE %I = $1 FOR KEY SHARE OF x', confrelid::regclass, attname) AS sql,
       ARRAY['x'] AS params
     FROM pg_constraint JOIN pg_attribute ON attrelid = confrelid AND attnum = ANY(confkey)
     WHERE contype = 'f' AND connamespace = current_schema()::regnamespace`,
  );
}

/** The tables that a statement reads from the first to the last row, by its generic plan and by the one for its values. */
export async function scannedTables(pool: IDatabasePool, { sql, params }: Executed, rows: number): Promise<string[]> {
  const values = params.map(literal).join(', ');
  const scanned: string[] = [];
  for (const mode of ['force_generic_plan', 'force_custom_plan']) {
    await inTransaction(pool, async (connection) => {
      await connection.query(`SET LOCAL plan_cache_mode = ${mode}`);
      if (rows < FEW_ROWS) await connection.query('SET LOCAL enable_seqscan = off');
      await connection.query(`PREPARE asked AS ${sql}`);
      const execute = values === '' ? 'EXECUTE asked' : `EXECUTE asked(${values})`;
      const [explained] = await connection.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `EXPLAIN (FORMAT JSON) ${execute}`,
      );
      scanned.push(...explained!['QUERY PLAN'].flatMap((plan) => scansIn(plan.Plan, false)));
      await connection.query('DEALLOCATE asked');
    });
  }
  return scanned;
}

/** `limited`: a LIMIT above ends the scan early. */
function scansIn(plan: Plan, limited: boolean): string[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Cond': condition, Plans: inner = [] } = plan;
  const scans = type === 'Seq Scan' || (/^Index (?:Only )?Scan/.test(type) && condition === undefined && !limited);
  const own = scans && table !== undefined && !FIXED.includes(table) ? [table] : [];
  const limitedBelow = type === 'Limit' || (limited && !/^(?:Sort|Hash|Aggregate)$/.test(type));
  return [...own, ...inner.flatMap((child) => scansIn(child, limitedBelow))];
}

function literal(value: unknown): string {
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]`;
  if (typeof value === 'number') return String(value);
  return `'${String(value).replaceAll(`'`, `''`)}'`;
}

async function inTransaction(
  pool: IDatabasePool,
  work: (connection: IPooledConnection) => Promise<void>,
): Promise<void> {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await work(connection);
    await connection.commit();
  } finally {
    connection.release();
  }
}
