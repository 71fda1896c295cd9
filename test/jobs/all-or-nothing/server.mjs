// The program that is killed: it places the orders that it receives, and says what became of each.
import { Container, Registration, singleton } from '@ambit/container';
import { isTemporary, runInTransaction } from '@ambit/transaction';
import { kyselyOn } from '@ambit/orm/kysely';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import { Client } from 'pg';
import { PgBoss } from 'pg-boss';
import { DataSource, EntitySchema } from 'typeorm';
import { DisturbedPool } from './faults.mjs';
import { QUEUE } from './tables.mjs';

/** @type {{ url: string, boss: string, queueOutside: boolean }} */
const { url, boss: schema, queueOutside } = JSON.parse(process.argv[2] ?? '');

const Order = new EntitySchema({
  name: 'order',
  tableName: 'orders',
  columns: { id: { type: 'text', primary: true }, customer: { type: 'text' } },
  relations: { lines: { type: 'one-to-many', target: 'line', inverseSide: 'order', cascade: true } },
});
const Line = new EntitySchema({
  name: 'line',
  tableName: 'lines',
  columns: { id: { type: 'int', primary: true, generated: 'increment' }, product: { type: 'text' } },
  relations: { order: { type: 'many-to-one', target: 'order', joinColumn: { name: 'order_id' } } },
});

const admin = new Client({ connectionString: url });
await admin.connect();
const terminate = (/** @type {number} */ pid) => admin.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
const pool = new DisturbedPool(createPostgresPool({ connectionString: url, max: 2 }), terminate);
const dataSource = await new DataSource({
  type: 'postgres',
  driver: typeormDriver(pool),
  entities: [Order, Line],
}).initialize();
const executeSql = (/** @type {string} */ sql, /** @type {unknown[]} */ values) => admin.query(sql, values);
const boss = new PgBoss({ db: { executeSql }, schema, supervise: false, schedule: false, migrate: false });
await boss.start();
// pg-boss asks once what it needs to know of a queue.
await boss.getQueue(QUEUE);
const app = new Container();
app.addRegistration(
  Registration.fromFactory(() => pool)
    .pipe(singleton())
    .to('IDatabasePool'),
);

/** @param {string} id */
async function placeOrder(id) {
  await runInTransaction(app, async (scope) => {
    const connection = scope.resolve('IConnection');
    const order = { id, customer: 'Ada', lines: [{ product: 'apple' }, { product: 'pear' }] };
    await typeormOn(connection, dataSource).save(Order, order);
    const payment = { order_id: id, amount: 42 };
    await kyselyOn(connection).insertInto('payments').values(payment).execute();
    const db = { executeSql: connection.execute.bind(connection) };
    await boss.send(QUEUE, { order: id }, queueOutside ? {} : { db });
  });
}

/** @param {unknown} error */
function outcomeOf(error) {
  const { code } = /** @type {{ code?: string }} */ (error);
  if (code === 'AMBIT_TX_OUTCOME_UNKNOWN') return 'unknown';
  if (code?.startsWith('AMBIT_TX_') || isTemporary(error)) return 'rolled back';
  throw error;
}

/** @param {import('./servers.mjs').Placing} placing */
async function place({ order, fault }) {
  pool.arm(fault);
  const outcome = await placeOrder(order).then(() => 'committed', outcomeOf);
  process.send?.({ outcome, statements: pool.statements });
}

process.on('message', (/** @type {import('./servers.mjs').Placing} */ placing) => void place(placing));
process.send?.('started');
