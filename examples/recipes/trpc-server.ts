// tRPC on node:http: a scope per procedure call, also for each of the calls in one batch.
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Container } from '@ambit/container';
import { drainScopes } from '@ambit/container/work';
import { drain } from '@ambit/express';
import { initTRPC } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { createApp, pay, type Payment } from './payments.ts';
import { isProgram, onStopSignal } from './program.ts';
import { inStreamScope } from './stream-scope.ts';

const t = initTRPC.context<{ app: Container }>().create();

/** Procedures find their scope, and a signal that aborts when the client goes away, in their context. */
const scopedProcedure = t.procedure.use(async ({ ctx: { app }, next, signal }) => {
  const run = (scope: Container, anyAbort: AbortSignal) => next({ ctx: { scope, signal: anyAbort } });
  let result!: Awaited<ReturnType<typeof run>>;
  const data = await inStreamScope(app, { tags: ['operation'], signal }, async (scope, anyAbort) => {
    result = await run(scope, anyAbort);
    return result.ok ? result.data : undefined;
  });
  return result.ok ? { ...result, data } : result;
});

const paymentOf = (input: unknown): Payment => {
  const { id, amount } = input as Partial<Payment>;
  if (typeof id === 'string' && typeof amount === 'number') return { id, amount };
  throw new TypeError('Send an "id" and an "amount"');
};

const router = t.router({
  payments: scopedProcedure.query(({ ctx }) =>
    ctx.scope.resolve('IDatabasePool').query<{ id: string; amount: number }>('SELECT id, amount FROM payments'),
  ),
  // A client that got an error may send the same mutation again: the id makes it safe.
  pay: scopedProcedure.input(paymentOf).mutation(({ ctx, input }) => pay(ctx.scope, input, ctx.signal)),
  countdown: scopedProcedure.input(Number).subscription(async function* ({ ctx, input }) {
    for (let countdown = input; countdown > 0; countdown -= 1) {
      yield countdown;
      await setTimeout(50, undefined, { signal: ctx.signal });
    }
  }),
});

export type Router = typeof router;

export function serve(app: Container, port: number): Server {
  return createHTTPServer({ router, createContext: () => ({ app }) }).listen(port);
}

export async function stop(server: Server, app: Container, timeoutMs = 10_000): Promise<void> {
  // drain() closes the connections once their responses have arrived; it knows any server of node:http.
  await Promise.all([drain(server, { timeoutMs: timeoutMs + 1000 }), drainScopes(app, { timeoutMs })]);
  await app.dispose();
}

if (isProgram(import.meta.filename)) {
  const app = createApp();
  await app.start();
  const server = serve(app, Number(process.env['PORT'] ?? 3000));
  onStopSignal(() => stop(server, app));
  await once(server, 'listening');
  console.log(`Listening on port ${(server.address() as AddressInfo).port}`);
}
