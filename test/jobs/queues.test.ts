import { DBOS, DBOSClient } from '@dbos-inc/dbos-sdk';
import { pgClientOn } from '@ambit/orm/pg';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { makeWorkerUtils, runOnce } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type App, openApp } from '../libraries/app.js';

/** A queue in the database of the orders. */
interface Queue {
  add(connection: IConnection, order: string): Promise<unknown>;
  /** The orders that a worker finds to do, each of them once. */
  work(): Promise<string[]>;
  close(): Promise<void>;
}

/** Everything that pg-boss asks for: it runs what it sends as statements of the transaction. */
const bossOn = (connection: IConnection) => ({
  executeSql: async (sql: string, values?: unknown[]) => ({ rows: await connection.query(sql, values) }),
});

async function openBoss(app: App): Promise<PgBoss> {
  const schema = `${app.schema}_boss`;
  const boss = new PgBoss({ connectionString: app.address, schema, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue('mail');
  return boss;
}

async function closeBoss(boss: PgBoss, app: App): Promise<void> {
  await boss.stop({ graceful: false });
  await app.pool.query(`DROP SCHEMA ${app.schema}_boss CASCADE`);
}

async function pgBoss(app: App): Promise<Queue> {
  const boss = await openBoss(app);
  return {
    add: (connection, order) => boss.send('mail', { order }, { db: bossOn(connection) }),
    work: async () => {
      const jobs = await boss.fetch<{ order: string }>('mail', { batchSize: 10 });
      return jobs.map(({ data }) => data.order);
    },
    close: () => closeBoss(boss, app),
  };
}

async function graphileWorker(app: App): Promise<Queue> {
  const worker = { connectionString: app.address, schema: `${app.schema}_worker` };
  const utils = await makeWorkerUtils(worker);
  await utils.migrate();
  const work = async (): Promise<string[]> => {
    const done: string[] = [];
    const mail = (payload: unknown) => void done.push((payload as { order: string }).order);
    await runOnce({ ...worker, taskList: { mail }, noHandleSignals: true });
    // It removes a job that is done a moment later.
    while ((await app.pool.query(`SELECT 1 FROM ${worker.schema}.jobs`)).length > 0);
    return done;
  };
  // A worker that starts registers its tasks, and would wait for a transaction that adds the first job of one.
  await work();
  return {
    add: (connection, order) =>
      connection.query(`SELECT ${worker.schema}.add_job('mail', $1::json)`, [JSON.stringify({ order })]),
    work,
    async close() {
      await utils.release();
      await app.pool.query(`DROP SCHEMA ${worker.schema} CASCADE`);
    },
  };
}

async function dbos(app: App): Promise<Queue> {
  const schema = `${app.schema}_dbos`;
  const database = { systemDatabaseUrl: app.address, systemDatabaseSchemaName: schema };
  DBOS.setConfig({ name: 'shop', ...database, logLevel: 'error' });
  let done: string[] = [];
  DBOS.registerWorkflow(async (order: string) => void done.push(order), { name: 'ship' });
  await DBOS.launch();
  await DBOS.registerQueue('orders', { minPollingIntervalMs: 50 });
  const client = await DBOSClient.create({ ...database, applicationName: 'shop' });
  return {
    add(connection, order) {
      const workflow = { queueName: 'orders', workflowName: 'ship', workflowID: order };
      return client.enqueueInTransaction(pgClientOn(connection), workflow, order);
    },
    async work() {
      const waiting = `SELECT 1 FROM ${schema}.workflow_status WHERE status IN ('ENQUEUED', 'PENDING')`;
      await expect.poll(() => app.pool.query(waiting)).toEqual([]);
      const found = done;
      done = [];
      return found;
    },
    async close() {
      await client.destroy();
      await DBOS.shutdown();
      await app.pool.query(`DROP SCHEMA ${schema} CASCADE`);
    },
  };
}

describe.each([
  ['pg-boss', pgBoss],
  ['graphile-worker', graphileWorker],
  ['DBOS', dbos],
])('a job of %s that is added with its order', (_name, open) => {
  let app: App;
  let queue: Queue;
  beforeAll(async () => {
    app = await openApp('PostgreSQL');
    await app.pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
    queue = await open(app);
  });
  beforeEach(() => app.pool.query('DELETE FROM orders'));
  afterAll(async () => {
    await queue.close();
    await app.drop();
  });

  const place = (order: string, and: (connection: IConnection) => Promise<void> = async () => undefined) =>
    runInTransaction(app.container, async (scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      await connection.query('INSERT INTO orders VALUES ($1)', [order]);
      await queue.add(connection, order);
      await and(connection);
    });

  it('is done after COMMIT only, and once', async () => {
    await place('a', async () => {
      expect(await queue.work()).toEqual([]);
    });
    expect(await queue.work()).toEqual(['a']);
    expect(await queue.work()).toEqual([]);
  });

  it('is not stored when the transaction is rolled back, nor is the order', async () => {
    const failing = place('b', () => Promise.reject(new Error('changed my mind')));
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await queue.work()).toEqual([]);
    expect(await app.pool.query('SELECT * FROM orders')).toEqual([]);
  });

  it('is dropped with a nested run that fails, and the others are kept', async () => {
    await runInTransaction(app.container, async (scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      await queue.add(connection, 'c');
      const part = runInTransaction(scope, async () => {
        await queue.add(connection, 'd');
        throw new Error('only this part');
      });
      await expect(part).rejects.toThrow('only this part');
    });
    expect(await queue.work()).toEqual(['c']);
  });

  it('is refused after the transaction has completed', async () => {
    const connection = await runInTransaction(app.container, async (scope) =>
      scope.resolve<IConnection>('IConnection'),
    );
    await expect(queue.add(connection, 'late')).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
    expect(await queue.work()).toEqual([]);
  });
});

it('a job of pg-boss is completed in the transaction of its work, so that the work is done once', async () => {
  const app = await openApp('PostgreSQL');
  const boss = await openBoss(app);
  await boss.send('mail', { order: 'a' });
  const [job] = await boss.fetch('mail');
  const id = job?.id ?? '';
  const handle = (fails: boolean) =>
    runInTransaction(app.container, async (scope) => {
      await boss.complete('mail', id, undefined, { db: bossOn(scope.resolve<IConnection>('IConnection')) });
      if (fails) throw new Error('crashed');
    });
  await expect(handle(true)).rejects.toThrow('crashed');
  expect(await boss.findJobs('mail', { id })).toMatchObject([{ state: 'active' }]);
  await handle(false);
  expect(await boss.findJobs('mail', { id })).toMatchObject([{ state: 'completed' }]);
  await closeBoss(boss, app);
  await app.drop();
});
