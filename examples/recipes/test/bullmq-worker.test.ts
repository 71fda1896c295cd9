import { once } from 'node:events';
import { type Job, Queue, type Worker } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RETRIES, startWorker, stopWorker } from '../bullmq-worker.js';
import type { Payment } from '../payments.js';
import { hasRedis, redisUrl } from './support/databases.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';

const coffee = { id: 'coffee', amount: 4 };

describe.skipIf(!hasRedis)('bullmq-worker', () => {
  let payments: PaymentsApp;
  let queue: Queue<Payment>;
  let worker: Worker<Payment>;

  beforeEach(async () => {
    payments = await paymentsApp();
    const options = { connection: { url: redisUrl }, prefix: `ambit-${process.pid}-${Math.random()}` };
    queue = new Queue('payments', options);
    worker = startWorker(payments.app, options);
    await worker.waitUntilReady();
  });

  afterEach(async () => {
    await worker.close(true);
    await queue.obliterate({ force: true });
    await queue.close();
  });

  const retriedAtOnce = { ...RETRIES, backoff: { type: 'fixed', delay: 1 } };
  const completed = (): Promise<unknown> => once(worker, 'completed');
  const failed = async (): Promise<Error> => {
    const [, error] = (await once(worker, 'failed')) as [Job, Error];
    return error;
  };

  it('does each job in a scope and a transaction of its own', async () => {
    const done = completed();
    await queue.add('pay', coffee);
    await done;
    expect(await payments.stored()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('stores nothing of a job that fails, and the queue delivers it again', async () => {
    payments.bank.failOnce();
    const [failure, done] = [failed(), completed()];
    await queue.add('pay', coffee, retriedAtOnce);
    expect(await failure).toMatchObject({ message: 'The bank is closed' });
    await done;
    expect(await payments.stored()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('rolls back a job that the database refuses', async () => {
    const failure = failed();
    await queue.add('pay', { id: 'refund', amount: -4 });
    expect(await failure).toMatchObject({ sqlState: '23514' });
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('cancels a job with the signal of BullMQ', async () => {
    const { reached } = payments.bank.holdOnce();
    const failure = failed();
    const { id = '' } = await queue.add('pay', coffee);
    await reached;
    worker.cancelJob(id, 'not wanted any more');
    await failure;
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('finishes the job in progress at shutdown', async () => {
    const { reached, release } = payments.bank.holdOnce();
    await queue.add('pay', coffee);
    await reached;
    const stopped = stopWorker(worker, payments.app);
    expect(payments.openScopes()).toBe(1);
    release();
    await stopped;
    expect(await payments.stored()).toEqual([coffee]);
    payments.expectNoOpenScopes();
  });

  it('aborts a job that takes too long at shutdown, and leaves it in the queue', async () => {
    const { reached } = payments.bank.holdOnce();
    await queue.add('pay', coffee, RETRIES);
    await reached;
    await stopWorker(worker, payments.app, 0);
    expect(await payments.stored()).toEqual([]);
    expect(await queue.getJobCounts('active', 'delayed')).toEqual({ active: 0, delayed: 1 });
    payments.expectNoOpenScopes();
  });
});
