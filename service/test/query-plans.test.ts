import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { App } from './support/app.js';
import { postgres, sqlite, type TestDatabase } from './support/databases.js';
import { type Executed, executedStatements } from './support/executed-statements.js';
import { fill, foreignKeyChecks, scannedTables } from './support/postgres-plans.js';

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
