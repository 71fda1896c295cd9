// Runs the workflows of the orders. With a moment it kills itself there, in the first workflow that it runs.
import { DBOS } from '@dbos-inc/dbos-sdk';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { APPLICATION, QUEUE, WORKFLOW } from './names.mjs';

/** @type {{ url: string, dies?: string }} */
const { url, dies } = JSON.parse(process.argv[2] ?? '');
const pool = createPostgresPool({ connectionString: url, max: 2 });

/** @param {string} moment */
async function reach(moment) {
  if (moment !== dies) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => undefined);
}

/**
 * DBOS may run a step again that it has not recorded, so its effect is keyed by the workflow.
 *
 * @param {'reserved' | 'shipped'} table
 * @param {'first' | 'second'} step
 * @param {string} order
 */
async function apply(table, step, order) {
  await reach(`in the ${step} step, before its effect`);
  await pool.query(`INSERT INTO ${table} VALUES ($1) ON CONFLICT DO NOTHING`, [order]);
  await reach(`in the ${step} step, after its effect`);
}

DBOS.registerWorkflow(
  async (/** @type {string} */ order) => {
    await reach('before the first step');
    await DBOS.runStep(() => apply('reserved', 'first', order), { name: 'reserve' });
    await reach('between the steps');
    await DBOS.runStep(() => apply('shipped', 'second', order), { name: 'ship' });
    await reach('after the second step');
  },
  { name: WORKFLOW },
);
DBOS.setConfig({ name: APPLICATION, systemDatabaseUrl: url, applicationVersion: '1', logLevel: 'error' });
await DBOS.launch();
await DBOS.registerQueue(QUEUE, { minPollingIntervalMs: 50 });
process.send?.('started');
