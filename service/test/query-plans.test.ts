import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { App } from './support/app.js';
import { databaseKinds, mariadb, postgres, sqlite, type TestDatabase } from './support/databases.js';
import { type Executed, executedStatements } from './support/executed-statements.js';
import * as mariadbPlans from './support/mariadb-plans.js';
import { fill, foreignKeyChecks, keepsItsPlan, scannedTables } from './support/postgres-plans.js';

const { PLAN_ROWS } = process.env;

/** With PLAN_ROWS=1000000 it takes most of a minute. */
const SIZES = (PLAN_ROWS ?? '10,10000').split(',').map(Number);

/** The keys that are deleted at once are found by their age, and then one by one; the counters are read as well. */
const MOST_READ = 2500;

describe.each(databaseKinds)('with $name', (kind) => {
  describe.skipIf(kind.missing)('the statements of the service', () => {
    let database: TestDatabase;
    const apps: App[] = [];
    let executed: readonly Executed[];

    beforeAll(async () => {
      database = await kind.open();
      const statements = new Map<string, Executed>();
      for (const variant of HOST_VARIANTS) {
        // Filling the tables takes longer than the time limit of a statement.
        const app = await App.start(variant, { ...database.env, QUERY_TIMEOUT_MS: '300000' });
        apps.push(app);
        for (const statement of await executedStatements(app)) statements.set(statement.sql, statement);
        await app.quiet();
      }
      executed = [...statements.values()];
    });
    afterAll(async () => {
      for (const app of apps) await app.stop();
      await database.drop();
    });

    test('are recorded for every table', () => {
      for (const table of ['users', 'orders', 'order_items', 'stock', 'reservations', 'idempotency_keys'])
        expect(executed.filter(({ sql }) => sql.includes(table))).not.toEqual([]);
    });

    test.runIf(kind === postgres).each(SIZES)(
      'scan no table of %d rows',
      async (rows) => {
        const { pool } = apps[0]!;
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

    test.runIf(kind === postgres && !PLAN_ROWS)(
      'are planned once on each connection, in tables of 10,000 rows',
      async () => {
        const { pool } = apps[0]!;
        await fill(pool, 10_000);
        const again: string[] = [];
        for (const statement of executed) if (!(await keepsItsPlan(pool, statement))) again.push(statement.sql);
        expect(again).toEqual([]);
      },
    );

    test.runIf(kind === mariadb).each(SIZES)(
      'read a batch of a table of %d rows at most',
      async (rows) => {
        const { pool } = apps[0]!;
        await mariadbPlans.fill(pool, rows);
        const greedy: object[] = [];
        for (const statement of executed) {
          const read = await mariadbPlans.rowsRead(pool, statement);
          if (read > MOST_READ) greedy.push({ sql: statement.sql, read });
        }
        expect(greedy).toEqual([]);
      },
      300_000,
    );

    // Its plans depend on the schema alone, because it keeps no statistics without ANALYZE.
    test.runIf(kind === sqlite)('scan no table', async () => {
      const { pool } = apps[0]!;
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
