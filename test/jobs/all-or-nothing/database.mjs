import { PgBoss } from 'pg-boss';
import { Client } from 'pg';
import { APPLICATION, QUEUE, TABLES } from './tables.mjs';

/** What the order of a round should have left in the database, by who writes it. */
const PARTS = {
  'the order of TypeORM': 'SELECT 1 FROM orders WHERE id = $1',
  'its lines': 'SELECT 1 FROM lines WHERE order_id = $1',
  'the payment of Kysely': 'SELECT 1 FROM payments WHERE order_id = $1',
  'the job of pg-boss': "SELECT 1 FROM BOSS.job WHERE data ->> 'order' = $1",
};

/** A schema for the orders and one for the queue, both removed by `drop()`. */
export async function createDatabase() {
  const url = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');
  const name = `ambit_${process.pid}_${Math.random().toString(36).slice(2)}`;
  const boss = `${name}_boss`;
  const admin = new Client({ connectionString: url.href });
  await admin.connect();
  await admin.query(`CREATE SCHEMA ${name}; SET search_path TO ${name}; ${TABLES}`);
  await createQueue(url.href, boss);
  url.searchParams.set('options', `-c search_path=${name}`);
  url.searchParams.set('application_name', APPLICATION + name);
  return {
    settings: { url: url.href, boss },
    /** Waits until PostgreSQL has completed or rolled back what a killed server has sent. */
    async quiet() {
      for (;;) {
        const busy = "SELECT 1 FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'";
        if ((await admin.query(busy, [APPLICATION + name])).rowCount === 0) return;
      }
    },
    /** @param {string} order */
    async partsOf(order) {
      /** @type {{ stored: string[], missing: string[] }} */
      const parts = { stored: [], missing: [] };
      for (const [part, sql] of Object.entries(PARTS)) {
        const { rowCount } = await admin.query(sql.replace('BOSS', boss), [order]);
        parts[rowCount === 0 ? 'missing' : 'stored'].push(part);
      }
      return parts;
    },
    async drop() {
      await admin.query(`DROP SCHEMA ${name} CASCADE; DROP SCHEMA IF EXISTS ${boss} CASCADE`);
      await admin.end();
    },
  };
}

/**
 * @param {string} connectionString
 * @param {string} schema
 */
async function createQueue(connectionString, schema) {
  const boss = new PgBoss({ connectionString, schema, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue(QUEUE);
  await boss.stop({ graceful: false });
}
