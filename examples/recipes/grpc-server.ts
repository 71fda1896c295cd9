// gRPC with @grpc/grpc-js: a scope per call, unary or streaming. It is cancelled with the call, by the client or its deadline.
import { once } from 'node:events';
import type { Container } from '@ambit/container';
import { drainScopes, inScope } from '@ambit/container/work';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
  status,
} from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import { createApp, pay, type Payment } from './payments.ts';
import { isProgram, onStopSignal } from './program.ts';

// What `protoLoader.load('payments.proto')` reads from a file.
const definition = fromJSON({
  nested: {
    Payment: { fields: { id: { type: 'string', id: 1 }, amount: { type: 'int32', id: 2 } } },
    Receipt: { fields: { id: { type: 'string', id: 1 } } },
    ListRequest: { fields: {} },
    Payments: {
      methods: {
        Pay: { comment: 'Charges and stores', requestType: 'Payment', responseType: 'Receipt' },
        List: { comment: 'All of them', requestType: 'ListRequest', responseType: 'Payment', responseStream: true },
      },
    },
  },
});
export const PaymentsClient = loadPackageDefinition(definition)['Payments'] as ServiceClientConstructor;

const CLOSE_TIMEOUT_MS = 1000;

interface Call {
  readonly cancelled: boolean;
  on(event: 'cancelled', listener: () => void): unknown;
  getPath(): string;
}

/** The scope of a call, and what cancels it. */
function callOptions(call: Call) {
  const cancelled = new AbortController();
  const cancel = (): void => cancelled.abort(new Error('The call was cancelled'));
  call.on('cancelled', cancel);
  if (call.cancelled) cancel();
  const register = (scope: Container): unknown => scope.register('IOperationId', () => call.getPath());
  return { tags: ['call'], signal: cancelled.signal, register };
}

/** UNAVAILABLE tells the client that it may call again, on another server: this one is shutting down. */
const failure = (error: unknown) => ({
  code: (error as { code?: unknown }).code === 'AMBIT_DRAINING' ? status.UNAVAILABLE : status.INTERNAL,
  details: (error as Error).message,
});

function unary<Request, Response>(
  app: Container,
  handle: (scope: Container, request: Request, signal: AbortSignal) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, respond) =>
    void inScope(app, callOptions(call), (scope, signal) => handle(scope, call.request, signal)).then(
      (response) => respond(null, response),
      (error: unknown) => respond(failure(error)),
    );
}

function streaming<Request, Response>(
  app: Container,
  handle: (scope: Container, request: Request, signal: AbortSignal) => AsyncIterable<Response>,
): handleServerStreamingCall<Request, Response> {
  return (call) =>
    void inScope(app, callOptions(call), async (scope, signal) => {
      for await (const message of handle(scope, call.request, signal)) {
        signal.throwIfAborted();
        // The client reads more slowly than this writes: wait, instead of keeping it all in memory.
        if (!call.write(message)) await once(call, 'drain', { signal });
      }
    }).then(
      () => call.end(),
      (error: unknown) => call.emit('error', failure(error)),
    );
}

export async function serve(app: Container, port: number): Promise<{ server: Server; port: number }> {
  const server = new Server();
  server.addService(PaymentsClient.service, {
    Pay: unary(app, async (scope, payment: Payment, signal) => {
      await pay(scope, payment, signal);
      return { id: payment.id };
    }),
    List: streaming(app, async function* (scope) {
      yield* await scope.resolve('IDatabasePool').query('SELECT id, amount FROM payments ORDER BY id');
    }),
  });
  const address = `127.0.0.1:${port}`;
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, actual) =>
      error ? reject(error) : resolve(actual),
    );
  });
  return { server, port: bound };
}

export async function stop(server: Server, app: Container, timeoutMs = 10_000): Promise<void> {
  const closed = new Promise((resolve) => server.tryShutdown(resolve));
  await drainScopes(app, { timeoutMs });
  // The last responses are on their way. A client that does not read them is cut off.
  const cutting = setTimeout(() => server.forceShutdown(), CLOSE_TIMEOUT_MS);
  await closed;
  clearTimeout(cutting);
  await app.dispose();
}

if (isProgram(import.meta.filename)) {
  const app = createApp();
  await app.start();
  const { server, port } = await serve(app, Number(process.env['PORT'] ?? 50_051));
  onStopSignal(() => stop(server, app));
  console.log(`Listening on port ${port}`);
}
