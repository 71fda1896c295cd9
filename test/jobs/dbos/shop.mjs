// The program that is killed while it stores an order and enqueues the workflow that ships it, in one transaction.
import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { Container, Registration, singleton } from '@ambit/container';
import { pgClientOn } from '@ambit/orm/pg';
import { isTemporary, runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { Client } from 'pg';
import { DisturbedPool } from '../all-or-nothing/faults.mjs';
import { APPLICATION, QUEUE, WORKFLOW } from './names.mjs';

/** @type {{ url: string, queueOutside: boolean }} */
const { url, queueOutside } = JSON.parse(process.argv[2] ?? '');

const admin = new Client({ connectionString: url });
await admin.connect();
const terminate = (/** @type {number} */ pid) => admin.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
const pool = new DisturbedPool(createPostgresPool({ connectionString: url, max: 2 }), terminate);
const dbos = await DBOSClient.create({ systemDatabaseUrl: url, applicationName: APPLICATION });
const app = new Container();
app.addRegistration(
  Registration.fromFactory(() => pool)
    .pipe(singleton())
    .to('IDatabasePool'),
);

/** @param {import('../all-or-nothing/servers.mjs').Placing} placing */
async function placeOrder({ order, fails }) {
  await runInTransaction(app, async (scope) => {
    const connection = scope.resolve('IConnection');
    await connection.query('INSERT INTO orders VALUES ($1)', [order]);
    const workflow = { queueName: QUEUE, workflowName: WORKFLOW, workflowID: order };
    if (queueOutside) await dbos.enqueue(workflow, order);
    else await dbos.enqueueInTransaction(pgClientOn(connection), workflow, order);
    if (fails) throw new Error('changed my mind');
  });
}

/** @param {unknown} error */
function outcomeOf(error) {
  const { code, message } = /** @type {{ code?: string, message?: string }} */ (error);
  if (code === 'AMBIT_TX_OUTCOME_UNKNOWN') return 'unknown';
  if (code?.startsWith('AMBIT_TX_') || isTemporary(error) || message === 'changed my mind') return 'rolled back';
  throw error;
}

/** @param {import('../all-or-nothing/servers.mjs').Placing} placing */
async function place(placing) {
  pool.arm(placing.fault);
  const outcome = await placeOrder(placing).then(() => 'committed', outcomeOf);
  process.send?.({ outcome, statements: pool.statements });
}

process.on('message', (/** @type {import('../all-or-nothing/servers.mjs').Placing} */ placing) => void place(placing));
process.send?.('started');
