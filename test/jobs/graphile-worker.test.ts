import { type IConnection, runInTransaction } from '@ambit/transaction';
import { makeWorkerUtils, runOnce, type WorkerUtils } from 'graphile-worker';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type App, openApp } from '../libraries/app.js';

let app: App;
let worker: { connectionString: string; schema: string };
let utils: WorkerUtils;

/** A worker that waits is notified by PostgreSQL, at COMMIT, too. */
async function addJob(connection: IConnection, task: string, payload: object): Promise<void> {
  await connection.query(`SELECT ${worker.schema}.add_job($1, $2::json)`, [task, JSON.stringify(payload)]);
}

/** What a worker finds to do. */
async function work(): Promise<unknown[]> {
  const done: unknown[] = [];
  await runOnce({ ...worker, taskList: { mail: (payload) => void done.push(payload) }, noHandleSignals: true });
  return done;
}

beforeAll(async () => {
  app = await openApp('PostgreSQL');
  await app.pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  worker = { connectionString: app.address, schema: `${app.schema}_worker` };
  utils = await makeWorkerUtils(worker);
  await utils.migrate();
  // A worker that starts registers its tasks, and would wait for a transaction that adds the first job of one.
  await work();
});
beforeEach(() => app.pool.query('DELETE FROM orders'));
afterAll(async () => {
  await utils.release();
  await app.pool.query(`DROP SCHEMA ${worker.schema} CASCADE`);
  await app.drop();
});

it('stores the job with the order, and a worker gets it after COMMIT only', async () => {
  await runInTransaction(app.container, async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    await connection.query("INSERT INTO orders VALUES ('a')");
    await addJob(connection, 'mail', { order: 'a' });
    expect(await work()).toEqual([]);
  });
  expect(await work()).toEqual([{ order: 'a' }]);
});

it('stores neither when the transaction is rolled back', async () => {
  const failing = runInTransaction(app.container, async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    await connection.query("INSERT INTO orders VALUES ('a')");
    await addJob(connection, 'mail', { order: 'a' });
    throw new Error('changed my mind');
  });
  await expect(failing).rejects.toThrow('changed my mind');
  expect(await work()).toEqual([]);
  expect(await app.pool.query('SELECT * FROM orders')).toEqual([]);
});

it('drops the job of a nested run that fails, and keeps the others', async () => {
  await runInTransaction(app.container, async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    await addJob(connection, 'mail', { order: 'a' });
    const part = runInTransaction(scope, async () => {
      await addJob(connection, 'mail', { order: 'b' });
      throw new Error('only this part');
    });
    await expect(part).rejects.toThrow('only this part');
  });
  expect(await work()).toEqual([{ order: 'a' }]);
});
