import { pathToFileURL } from 'node:url';
import type { SQSEvent } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import { createHandler, stop } from '../lambda-handler.js';
import type { Payment } from '../payments.js';
import { type PaymentsApp, paymentsApp } from './support/payments.js';
import { fileOf, run } from '../../test/support/program.js';

const [coffee, cake] = [
  { id: 'coffee', amount: 4 },
  { id: 'cake', amount: 5 },
];

const eventOf = (...messages: Payment[]): SQSEvent => ({
  Records: messages.map((payment, i) => ({
    messageId: `message ${i}`,
    receiptHandle: '',
    body: JSON.stringify(payment),
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: '0',
      SenderId: '',
      ApproximateFirstReceiveTimestamp: '0',
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: '',
    awsRegion: '',
  })),
});
const remaining = (ms: number) => ({ getRemainingTimeInMillis: () => ms });
const failedOnes = (...ids: string[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });

describe('lambda-handler', () => {
  let payments: PaymentsApp;
  beforeEach(async () => {
    payments = await paymentsApp();
  });

  it('does each message of a batch in a scope and a transaction of its own', async () => {
    expect(await createHandler(payments.app)(eventOf(coffee, cake), remaining(3000))).toEqual(failedOnes());
    expect(await payments.stored()).toEqual([cake, coffee]);
    payments.expectNoOpenScopes();
  });

  it('stores nothing of a message that fails, and lets the queue deliver it again, and no other', async () => {
    const handle = createHandler(payments.app);
    payments.bank.failOnce();
    expect(await handle(eventOf(coffee, cake), remaining(3000))).toEqual(failedOnes('message 0'));
    expect(await payments.stored()).toEqual([cake]);
    expect(await handle(eventOf(coffee), remaining(3000))).toEqual(failedOnes());
    expect(await payments.stored()).toEqual([cake, coffee]);
    payments.expectNoOpenScopes();
  });

  it('cancels what takes too long half a second before Lambda freezes the process', async () => {
    payments.bank.holdOnce();
    expect(await createHandler(payments.app)(eventOf(coffee), remaining(501))).toEqual(failedOnes('message 0'));
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('finishes or aborts what is in progress at shutdown', async () => {
    const { reached } = payments.bank.holdOnce();
    const response = createHandler(payments.app)(eventOf(coffee), remaining(3000));
    await reached;
    await stop(payments.app, 0);
    expect(await response).toEqual(failedOnes('message 0'));
    expect(await payments.stored()).toEqual([]);
    payments.expectNoOpenScopes();
  });

  it('opens its application with the first invocation of the process, and exits with 0 at SIGTERM', async () => {
    const program = run([
      '--input-type=module',
      '--eval',
      `import { handler } from '${pathToFileURL(fileOf('recipes/lambda-handler')).href}';
       const context = { getRemainingTimeInMillis: () => 3000 };
       for (let i = 0; i < 2; i += 1) console.log(JSON.stringify(await handler(${JSON.stringify(eventOf(coffee))}, context)));
       process.kill(process.pid, 'SIGTERM');`,
    ]);
    const output = `${JSON.stringify(failedOnes())}\n`.repeat(2);
    expect(await program.ended()).toEqual({ code: 0, signal: null, errors: '', output });
  });
});
