// A pg-boss worker: the payment and the completion of its job are stored in one transaction, so that each job counts once.
import type { Container } from '@ambit/container';
import { drainScopes, inScope } from '@ambit/container/work';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import PgBoss from 'pg-boss';
import { createApp, type Payment } from './payments.ts';
import { isProgram, onStopSignal } from './program.ts';

export const QUEUE = 'payments';

/** The queue delivers a failed job again, after 1, 2, 4 ... seconds; after the last time it stays as 'failed'. */
export const RETRIES = { retryLimit: 4, retryDelay: 1, retryBackoff: true };

/** Lets pg-boss work on the transaction's own connection. */
const database = (connection: IConnection): PgBoss.Db => ({
  executeSql: async (text, values) => ({ rows: await connection.query(text, values) }),
});

/** Sends a job within a transaction: it exists if the transaction commits, and only then. */
export async function sendWithin(boss: PgBoss, connection: IConnection, payment: Payment): Promise<void> {
  await boss.send(QUEUE, payment, { ...RETRIES, db: database(connection) });
}

export async function startWorker(app: Container, boss: PgBoss): Promise<void> {
  await boss.start();
  await boss.createQueue(QUEUE);
  await boss.work<Payment>(QUEUE, { pollingIntervalSeconds: 0.5 }, async ([job]) => {
    if (job) await work(app, boss, job);
  });
}

function work(app: Container, boss: PgBoss, { id, data, expireInSeconds }: PgBoss.Job<Payment>): Promise<void> {
  const options = {
    tags: ['job'],
    // pg-boss gives a job that takes longer to another worker.
    signal: AbortSignal.timeout(expireInSeconds * 1000),
    register: (scope: Container) => scope.register('IOperationId', () => `job ${id}`),
  };
  return inScope(app, options, async (scope, signal) => {
    await scope.resolve('IBank').charge(data, signal);
    const storeAndComplete = async (transaction: Pick<Container, 'resolve'>): Promise<void> => {
      await transaction.resolve('IPayments').store(data);
      await boss.complete(QUEUE, id, {}, { db: database(transaction.resolve('IConnection')) });
    };
    await runInTransaction(scope, storeAndComplete, { retries: 5, signal });
  });
}

export async function stopWorker(boss: PgBoss, app: Container, timeoutMs = 10_000): Promise<void> {
  // The worker fetches no more jobs and waits for those in progress. Those that take too long are aborted, and delivered again.
  await boss.offWork(QUEUE);
  await drainScopes(app, { timeoutMs });
  await boss.stop({ timeout: 5000 });
  await app.dispose();
}

if (isProgram(import.meta.filename)) {
  const connectionString = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
  const app = createApp(() => createPostgresPool({ connectionString }));
  await app.start();
  const boss = new PgBoss({ connectionString });
  boss.on('error', console.error);
  await startWorker(app, boss);
  onStopSignal(() => stopWorker(boss, app));
  console.log('Waiting for jobs');
}
