import { runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { Client } from 'pg';
import PgBoss from 'pg-boss';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { QUEUE, RETRIES, sendWithin, startWorker, stopWorker } from '../pg-boss-worker.js';
import { createDatabase, hasPostgres } from './support/databases.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';

const coffee = { id: 'coffee', amount: 4 };

describe.skipIf(!hasPostgres)('pg-boss-worker', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let admin: Client;
  let payments: PaymentsApp;
  let boss: PgBoss;

  beforeAll(async () => {
    database = await createDatabase();
    admin = new Client({ connectionString: database.url });
    await admin.connect();
  });

  afterAll(async () => {
    await admin.end();
    await database.drop();
  });

  beforeEach(async () => {
    payments = await paymentsApp(createPostgresPool({ connectionString: database.url }));
    await admin.query('DELETE FROM payments');
    boss = new PgBoss({ connectionString: database.url });
    await startWorker(payments.app, boss);
    await boss.purgeQueue(QUEUE);
  });

  afterEach(() => boss.stop({ graceful: false }));

  const jobState = async (id: string | null): Promise<string | undefined> => {
    const { rows } = await admin.query<{ state: string }>('SELECT state FROM pgboss.job WHERE id = $1', [id]);
    return rows[0]?.state;
  };
  /** Resolves when the worker has done, or failed, a job: there is no event of that. */
  const settled = async (id: string | null): Promise<void> => {
    await expect.poll(() => jobState(id), { interval: 20 }).toMatch(/completed|failed|retry/);
  };

  it('stores the payment and the completion of its job in one transaction', async () => {
    const id = await boss.send(QUEUE, coffee);
    await settled(id);
    expect(await jobState(id)).toBe('completed');
    expect(await payments.stored()).toEqual([coffee]);
    const { rows } = await admin.query(
      'SELECT 1 FROM payments, pgboss.job WHERE job.id = $1 AND payments.xmin = job.xmin',
      [id],
    );
    expect(rows).toHaveLength(1);
    payments.expectNoOpenScopes();
  });

  it('stores nothing of a job that fails, and the queue delivers it again', async () => {
    payments.bank.failOnce();
    const id = await boss.send(QUEUE, coffee, { ...RETRIES, retryDelay: 0, retryBackoff: false });
    await expect.poll(payments.stored, { interval: 20 }).toEqual([coffee]);
    await settled(id);
    expect(payments.bank.charged).toEqual(['coffee']);
    payments.expectNoOpenScopes();
  });

  it('rolls back a job that the database refuses', async () => {
    const id = await boss.send(QUEUE, { id: 'refund', amount: -4 }, { retryLimit: 0 });
    await settled(id);
    expect(await jobState(id)).toBe('failed');
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('cancels a job when the queue gives it to another worker', async () => {
    const { reached } = payments.bank.holdOnce();
    const id = await boss.send(QUEUE, coffee, { expireInSeconds: 1, retryLimit: 0 });
    await reached;
    await settled(id);
    await expect.poll(payments.openScopes).toBe(0);
    expect(await payments.stored()).toEqual([]);
  });

  it('sends a job if the transaction around it commits, and only then', async () => {
    const send = (fails: boolean) =>
      runInTransaction(payments.app, async (transaction) => {
        await sendWithin(boss, transaction.resolve('IConnection'), { id: fails ? 'lost' : 'sent', amount: 1 });
        if (fails) throw new Error('never mind');
      });
    await expect(send(true)).rejects.toThrow('never mind');
    await send(false);
    await expect.poll(payments.stored, { interval: 20 }).toEqual([{ id: 'sent', amount: 1 }]);
    expect(payments.bank.charged).toEqual(['sent']);
  });

  it('finishes the job in progress at shutdown', async () => {
    const { reached, release } = payments.bank.holdOnce();
    const id = await boss.send(QUEUE, coffee);
    await reached;
    const stopped = stopWorker(boss, payments.app);
    expect(payments.openScopes()).toBe(1);
    release();
    await stopped;
    expect([await jobState(id), await payments.stored()]).toEqual(['completed', [coffee]]);
    payments.expectNoOpenScopes();
  });

  it('aborts a job that takes too long at shutdown, and leaves it in the queue', async () => {
    const { reached } = payments.bank.holdOnce();
    const id = await boss.send(QUEUE, coffee, RETRIES);
    await reached;
    await stopWorker(boss, payments.app, 0);
    expect([await jobState(id), await payments.stored()]).toEqual(['retry', []]);
    payments.expectNoOpenScopes();
  });
});
