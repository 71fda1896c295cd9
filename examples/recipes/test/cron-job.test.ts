import type { Cron } from 'croner';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { schedule, stop } from '../cron-job.js';
import { scopeClosed } from '../../test/support/application.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';

describe('cron-job', () => {
  let payments: PaymentsApp;
  let errors: unknown[];
  let job: Cron;

  beforeEach(async () => {
    payments = await paymentsApp();
    errors = [];
    job = schedule(payments.app, (error) => errors.push(error));
  });

  afterEach(() => job.stop());

  const subscription = { id: expect.stringMatching(/^subscription \d{4}-\d\d$/) as string, amount: 20 };

  it('runs at 03:00 on the first day of each month', () => {
    const [first, second] = job.nextRuns(2);
    for (const run of [first, second]) expect([run?.getDate(), run?.getHours(), run?.getMinutes()]).toEqual([1, 3, 0]);
    expect(first?.getMonth()).not.toBe(second?.getMonth());
  });

  it('does each run in a scope and a transaction of its own, when its time has come', async () => {
    const closed = scopeClosed(payments.app);
    const eachSecond = schedule(payments.app, (error) => errors.push(error), '* * * * * *');
    await closed;
    eachSecond.stop();
    expect(await payments.stored()).toEqual([subscription]);
    payments.expectNoOpenScopes();
  });

  it('charges once for each month, however often it runs', async () => {
    await job.trigger();
    await job.trigger();
    expect(await payments.stored()).toEqual([subscription]);
    expect(errors).toEqual([]);
  });

  it('reports a run that fails, stores nothing of it, and does not retry it', async () => {
    payments.bank.failOnce();
    await job.trigger();
    expect(errors).toMatchObject([{ message: 'The bank is closed' }]);
    expect([payments.bank.charged, await payments.stored()]).toEqual([[], []]);
    payments.expectNoOpenScopes();
  });

  it('finishes the run in progress at shutdown', async () => {
    const { reached, release } = payments.bank.holdOnce();
    const run = job.trigger();
    await reached;
    const stopped = stop(job, payments.app);
    release();
    await Promise.all([run, stopped]);
    expect(await payments.stored()).toEqual([subscription]);
    expect(job.nextRun()).toBeNull();
    payments.expectNoOpenScopes();
  });

  it('aborts a run that takes too long at shutdown', async () => {
    const { reached } = payments.bank.holdOnce();
    const run = job.trigger();
    await reached;
    await stop(job, payments.app, 0);
    await run;
    expect(errors).toMatchObject([{ code: 'AMBIT_DRAIN_TIMEOUT' }]);
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });
});
