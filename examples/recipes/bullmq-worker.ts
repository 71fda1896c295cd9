// A BullMQ worker: a scope and a transaction per job.
import type { Container } from '@ambit/container';
import { drainScopes, inScope } from '@ambit/container/work';
import { type QueueOptions, Worker } from 'bullmq';
import { createApp, pay, type Payment } from './payments.ts';
import { isProgram, onStopSignal } from './program.ts';

/**
 * The queue delivers a failed job again, after 1, 2, 4 ... seconds: queue.add('pay', payment, RETRIES).
 * Throw BullMQ's UnrecoverableError where that cannot help.
 */
export const RETRIES = { attempts: 5, backoff: { type: 'exponential', delay: 1000 } };

export function startWorker(app: Container, { connection, prefix = 'bull' }: QueueOptions): Worker<Payment> {
  return new Worker<Payment>(
    'payments',
    // BullMQ's signal aborts at worker.cancelJob(id), and when the job's lock is lost: then another worker has the job.
    (job, _token, signal) =>
      inScope(
        app,
        { tags: ['job'], signal, register: (scope) => scope.register('IOperationId', () => `job ${job.id}`) },
        (scope, anyAbort) => pay(scope, job.data, anyAbort),
      ),
    { connection, prefix, concurrency: 10 },
  );
}

export async function stopWorker(worker: Worker, app: Container, timeoutMs = 10_000): Promise<void> {
  // The worker fetches no more jobs and waits for those in progress. Those that take too long are aborted, and delivered again.
  await Promise.all([worker.close(), drainScopes(app, { timeoutMs })]);
  await app.dispose();
}

if (isProgram(import.meta.filename)) {
  const app = createApp();
  await app.start();
  const worker = startWorker(app, { connection: { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' } });
  worker.on('error', console.error).on('failed', (job, error) => console.error(job?.id, error));
  onStopSignal(() => stopWorker(worker, app));
  await worker.waitUntilReady();
  console.log('Waiting for jobs');
}
