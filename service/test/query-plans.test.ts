import { afterAll, beforeAll, describe, expect, type MockInstance, test, vi } from 'vitest';
import { App } from './support/app.js';
import { postgres, sqlite, type TestDatabase } from './support/databases.js';
import { WatchedConnection } from '@ambit/test-kit';
import { readStock } from '../src/commands.js';
import type { IDatabasePool, IPooledConnection } from '@ambit/transaction';

/** One row of each table, for a number `i`. */
const ROWS: Readonly<Record<string, string>> = {
  users: `${rowId('i')}, 'Ada', 'ada@example.org'`,
  orders: `${rowId('i')}, ${rowId('i')}, '2026-01-01T00:00:00.000Z'`,
  order_items: `${rowId('i')}, 0, 'product ' || i, 1`,
  stock: `'product ' || i, 1000000`,
  reservations: `${rowId('i')}, 'product ' || i, 1`,
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

function rowId(number: string): string {
  return `'01900000-0000-7000-8000-' || lpad(CAST(${number} AS text), 12, '0')`;
}

/** Fills every table up to so many rows. */
async function fill(pool: IDatabasePool, rows: number): Promise<void> {
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
function foreignKeyChecks(pool: IDatabasePool): Promise<Executed[]> {
  return pool.query<{ sql: string; params: string[] }>(
    `SELECT format('SELECT 1 FROM ONLY %s AS x WHERE %I = $1 FOR KEY SHARE OF x', confrelid::regclass, attname) AS sql,
       ARRAY['x'] AS params
     FROM pg_constraint JOIN pg_attribute ON attrelid = confrelid AND attnum = ANY(confkey)
     WHERE contype = 'f' AND connamespace = current_schema()::regnamespace`,
  );
}

/** The tables that a statement reads from the first to the last row, by its generic plan and by the one for its values. */
async function scannedTables(pool: IDatabasePool, { sql, params }: Executed, rows: number): Promise<string[]> {
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

/** A statement with the parameters of its last execution. */
interface Executed {
  readonly sql: string;
  readonly params: readonly unknown[];
}

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: ['apple', 'pear', 'apple'].map((productId) => ({ productId, quantity: 1 })) };
const READS_OR_WRITES = /^\s*(?:select|insert|update|delete|with|set statement)\b/i;

/**
 * Every statement that the service executes on behalf of a client, a timer or a command, once. They are recorded while
 * all of it is done, so a new statement is among them as soon as a client can cause it.
 */
async function executedStatements(app: App): Promise<Executed[]> {
  const statements = new Map<string, Executed>();
  const record = (sql: string, params: readonly unknown[] = []): void => {
    if (READS_OR_WRITES.test(sql)) statements.set(sql, { sql, params });
  };
  const spies = (['query', 'execute'] as const).flatMap((method) => [
    recorded(WatchedConnection.prototype, method, record),
    recorded(app.pool, method, record),
  ]);
  try {
    await doEverything(app);
    return [...statements.values()];
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

type Method = 'query' | 'execute';
type Run = (sql: string, params?: readonly unknown[], ...rest: unknown[]) => Promise<never>;

function recorded(
  on: Record<Method, unknown>,
  method: Method,
  record: (...call: Parameters<Run>) => void,
): MockInstance {
  const run = on[method] as Run;
  return vi.spyOn(on as Record<Method, Run>, method).mockImplementation(function (this: unknown, ...call) {
    record(...call);
    return run.apply(this, call);
  });
}

async function doEverything(app: App): Promise<void> {
  // `list` is missing, because it reads all products on purpose.
  for (const command of ['set apple 100', 'set plum 5', 'untrack plum'])
    await readStock(command.split(' '))(app.pool, app.container.resolve('ISqlDialect'));
  for (const [path, body] of [['/api/users', ADA] as const, ['/api/orders', ORDER] as const]) {
    const key = { 'idempotency-key': `${app.url} ${path}`.replaceAll(/\W/g, '-') };
    // The second request with the key is a replay.
    for (const headers of [{}, key, key]) await app.request({ method: 'POST', path, body, headers });
  }
  const { body: users } = await app.request<{ id: string }[]>({ path: '/api/users' });
  const { id } = users[0]!;
  // The last ones are short pages from the beginning: for such a page PostgreSQL would plan a limit that is a parameter again.
  for (const target of [`/${id}`, `?after=${id}`, `?limit=2&after=${id}`, '', '?limit=2'])
    await app.request({ path: `/api/users${target}` });
  await app.request({ path: '/health/ready' });
  await app.container.resolve('IIdempotency').removeExpired();
}

const { PLAN_ROWS } = process.env;

/** With PLAN_ROWS=1000000 it takes most of a minute. */
const SIZES = (PLAN_ROWS ?? '10,10000').split(',').map(Number);

describe.each([postgres, sqlite])('with $name', (kind) => {
  describe.skipIf(kind.missing)('the statements of the service', () => {
    let database: TestDatabase;
    let app: App;
    let executed: readonly Executed[];

    beforeAll(async () => {
      database = await kind.open();
      // Filling the tables takes longer than the time limit of a statement.
      app = await App.start('fastify', { ...database.env, QUERY_TIMEOUT_MS: '300000' });
      executed = await executedStatements(app);
      await app.quiet();
    });
    afterAll(async () => {
      await app.stop();
      await database.drop();
    });

    test('are recorded for every table', () => {
      for (const table of ['users', 'orders', 'order_items', 'stock', 'reservations', 'idempotency_keys'])
        expect(executed.filter(({ sql }) => sql.includes(table))).not.toEqual([]);
    });

    test.runIf(kind === postgres).each(SIZES)(
      'scan no table of %d rows',
      async (rows) => {
        const { pool } = app;
        await fill(pool, rows);
        const scans: object[] = [];
        for (const statement of [...executed, ...(await foreignKeyChecks(pool))]) {
          const tables = await scannedTables(pool, statement, rows);
          if (tables.length > 0) scans.push({ sql: statement.sql, tables });
        }
        expect(scans).toEqual([]);
      },
      300_000,
    );

    // Its plans depend on the schema alone, because it keeps no statistics without ANALYZE.
    test.runIf(kind === sqlite)('scan no table', async () => {
      const { pool } = app;
      const tables = await pool.query<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table'`);
      const names = new Set(tables.map(({ name }) => name));
      const scans: object[] = [];
      for (const { sql, params } of executed) {
        const plan = await pool.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, params);
        for (const { detail } of plan)
          if (names.has(/^SCAN (\w+)/.exec(detail)?.[1] ?? '')) scans.push({ sql, detail });
      }
      expect(scans).toEqual([]);
    });
  });
});
