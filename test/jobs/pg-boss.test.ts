import { type IConnection, runInTransaction } from '@ambit/transaction';
import { PgBoss } from 'pg-boss';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type App, openApp } from '../libraries/app.js';

/** Everything that pg-boss asks for: it runs what it sends as statements of the transaction. */
const on = (connection: IConnection) => ({
  executeSql: async (sql: string, values?: unknown[]) => ({ rows: await connection.query(sql, values) }),
});

let app: App;
let boss: PgBoss;

beforeAll(async () => {
  app = await openApp('PostgreSQL');
  await app.pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
  boss = new PgBoss({ connectionString: app.address, schema: `${app.schema}_boss`, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue('mail');
});
beforeEach(async () => {
  await app.pool.query('DELETE FROM orders');
  await boss.deleteAllJobs('mail');
});
afterAll(async () => {
  await boss.stop({ graceful: false });
  await app.pool.query(`DROP SCHEMA ${app.schema}_boss CASCADE`);
  await app.drop();
});

it('stores the job with the order, and a worker gets it after COMMIT only', async () => {
  await runInTransaction(app.container, async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    await connection.query("INSERT INTO orders VALUES ('a')");
    await boss.send('mail', { order: 'a' }, { db: on(connection) });
    expect(await boss.fetch('mail')).toEqual([]);
  });
  expect(await boss.fetch('mail')).toMatchObject([{ data: { order: 'a' } }]);
});

it('stores neither when the transaction is rolled back', async () => {
  const work = runInTransaction(app.container, async (scope) => {
    const connection = scope.resolve<IConnection>('IConnection');
    await connection.query("INSERT INTO orders VALUES ('a')");
    await boss.send('mail', { order: 'a' }, { db: on(connection) });
    throw new Error('changed my mind');
  });
  await expect(work).rejects.toThrow('changed my mind');
  expect(await boss.fetch('mail')).toEqual([]);
  expect(await app.pool.query('SELECT * FROM orders')).toEqual([]);
});

it('drops the job of a nested run that fails, and keeps the others', async () => {
  await runInTransaction(app.container, async (scope) => {
    const db = on(scope.resolve<IConnection>('IConnection'));
    await boss.insert('mail', [{ data: { order: 'a' } }, { data: { order: 'b' } }], { db });
    const part = runInTransaction(scope, async () => {
      await boss.send('mail', { order: 'c' }, { db });
      throw new Error('only this part');
    });
    await expect(part).rejects.toThrow('only this part');
  });
  const jobs = await boss.fetch<{ order: string }>('mail', { batchSize: 10 });
  expect(jobs.map(({ data }) => data.order).toSorted()).toEqual(['a', 'b']);
});

it('completes a job in the transaction of its work, so that the work is done once', async () => {
  await boss.send('mail', { order: 'a' });
  const [job] = await boss.fetch('mail');
  const id = job?.id ?? '';
  const handle = (fails: boolean) =>
    runInTransaction(app.container, async (scope) => {
      const connection = scope.resolve<IConnection>('IConnection');
      await connection.query("INSERT INTO orders VALUES ('a')");
      await boss.complete('mail', id, undefined, { db: on(connection) });
      if (fails) throw new Error('crashed');
    });
  await expect(handle(true)).rejects.toThrow('crashed');
  expect(await boss.findJobs('mail', { id })).toMatchObject([{ state: 'active' }]);
  await handle(false);
  expect(await boss.findJobs('mail', { id })).toMatchObject([{ state: 'completed' }]);
});

it('refuses a job after the transaction has completed', async () => {
  const db = await runInTransaction(app.container, async (scope) => on(scope.resolve<IConnection>('IConnection')));
  await expect(boss.send('mail', { order: 'late' }, { db })).rejects.toMatchObject({ code: 'AMBIT_TX_FINISHED' });
  expect(await boss.fetch('mail')).toEqual([]);
});
