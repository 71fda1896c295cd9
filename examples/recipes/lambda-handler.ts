// An AWS Lambda function behind an SQS queue: a scope and a transaction per message.
import type { Container } from '@ambit/container';
import { drainScopes, inScope } from '@ambit/container/work';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { createApp, pay, type Payment } from './payments.ts';
import { onStopSignal } from './program.ts';

type Handler = (event: SQSEvent, context: Pick<Context, 'getRemainingTimeInMillis'>) => Promise<SQSBatchResponse>;

// The work is cancelled so much earlier than Lambda freezes the process: a rollback takes time, too.
const MARGIN_MS = 500;

/**
 * The queue delivers the messages that failed again, as often as its redrive policy says, and not the others. (Switch on
 * ReportBatchItemFailures.)
 */
export function createHandler(app: Container): Handler {
  return async ({ Records: messages }, context) => {
    const signal = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - MARGIN_MS));
    const results = await Promise.allSettled(messages.map((message) => handleMessage(app, message, signal)));
    const failed = messages.filter((_message, i) => results[i]?.status === 'rejected');
    return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
  };
}

function handleMessage(app: Container, { messageId, body }: SQSRecord, signal: AbortSignal): Promise<void> {
  const register = (scope: Container): unknown => scope.register('IOperationId', () => `message ${messageId}`);
  return inScope(app, { tags: ['message'], signal, register }, (scope, anyAbort) =>
    pay(scope, JSON.parse(body) as Payment, anyAbort),
  );
}

export async function stop(app: Container, timeoutMs = 100): Promise<void> {
  await drainScopes(app, { timeoutMs, abortTimeoutMs: 100 });
  await app.dispose();
}

// One container for all invocations of a process; Lambda makes them one after another.
let opened: Handler | undefined;

export const handler: Handler = async (event, context) => {
  opened ??= createHandler(await openApp());
  return opened(event, context);
};

async function openApp(): Promise<Container> {
  const app = createApp();
  await app.start();
  // Lambda sends SIGTERM to a function that has an extension, and then allows it 300 ms.
  onStopSignal(() => stop(app));
  return app;
}
