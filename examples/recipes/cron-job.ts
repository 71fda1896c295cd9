// A cron job with croner: a scope and a transaction per run.
import type { Container } from '@ambit/container';
import { drainScopes, inScope } from '@ambit/container/work';
import { Cron } from 'croner';
import { createApp, pay } from './payments.ts';
import { isProgram, onStopSignal } from './program.ts';

const LIMIT_MS = 60 * 60_000;

/**
 * Charges a subscription at 03:00 on the first day of each month. A run that fails is not retried; `onError` receives its
 * error. A retry could not charge twice: the id of the payment is the month.
 */
export function schedule(app: Container, onError: (error: unknown) => void, pattern = '0 3 1 * *'): Cron {
  // protect: a run is skipped while the one before it is in progress.
  return new Cron(pattern, { protect: true, catch: onError }, () => {
    const payment = { id: `subscription ${new Date().toISOString().slice(0, 7)}`, amount: 20 };
    return inScope(app, { tags: ['job'], signal: AbortSignal.timeout(LIMIT_MS) }, (scope, signal) =>
      pay(scope, payment, signal),
    );
  });
}

export async function stop(job: Cron, app: Container, timeoutMs = 10_000): Promise<void> {
  job.stop();
  await drainScopes(app, { timeoutMs });
  await app.dispose();
}

if (isProgram(import.meta.filename)) {
  const app = createApp();
  await app.start();
  const job = schedule(app, console.error);
  onStopSignal(() => stop(job, app));
  console.log(`Waiting until ${job.nextRun()?.toISOString()}`);
}
