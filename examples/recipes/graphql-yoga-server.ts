// GraphQL Yoga on node:http: a scope per operation, query, mutation or subscription; a mutation is one transaction.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Container } from '@ambit/container';
import { drainScopes } from '@ambit/container/work';
import { drain } from '@ambit/express';
import type { IDatabasePool } from '@ambit/transaction';
import type { ExecutionArgs } from 'graphql';
import { createSchema, createYoga, type Plugin } from 'graphql-yoga';
import { createApp, pay, type Payment } from './payments.ts';
import { isProgram, onStopSignal } from './program.ts';
import { inStreamScope } from './stream-scope.ts';

interface Operation {
  readonly scope: Container;
  readonly signal: AbortSignal;
}

/** Resolvers find the scope, and a signal that aborts when the client goes away, in their context. */
function scopePerOperation(app: Container): Plugin {
  const inOperation =
    (execute: (args: ExecutionArgs) => unknown) =>
    (args: ExecutionArgs): unknown => {
      const context = args.contextValue as { request: Request };
      return inStreamScope(app, { tags: ['operation'], signal: context.request.signal }, (scope, signal) =>
        execute({ ...args, contextValue: { ...context, scope, signal } }),
      );
    };
  return {
    onExecute: ({ executeFn, setExecuteFn }) => setExecuteFn(inOperation(executeFn)),
    onSubscribe: ({ subscribeFn, setSubscribeFn }) => setSubscribeFn(inOperation(subscribeFn)),
  };
}

const schema = createSchema<Operation>({
  typeDefs: /* GraphQL */ `
    type Payment {
      id: ID!
      amount: Int!
    }
    type Query {
      payments: [Payment!]!
    }
    type Mutation {
      pay(id: ID!, amount: Int!): Boolean!
    }
    type Subscription {
      countdown(from: Int!): Int!
    }
  `,
  resolvers: {
    Query: {
      payments: (_root, _args, { scope }) =>
        scope
          .resolve<IDatabasePool>('IDatabasePool')
          .query<{ id: string; amount: number }>('SELECT id, amount FROM payments'),
    },
    Mutation: {
      // A client that got an error may send the same mutation again: the id makes it safe.
      pay: async (_root, payment: Payment, { scope, signal }) => {
        await pay(scope, payment, signal);
        return true;
      },
    },
    Subscription: {
      countdown: {
        async *subscribe(_root: unknown, { from }: { from: number }, { signal }: Operation) {
          for (let countdown = from; countdown > 0; countdown -= 1) {
            yield { countdown };
            await setTimeout(50, undefined, { signal });
          }
        },
      },
    },
  },
});

export function serve(app: Container, port: number): Server {
  const yoga = createYoga({ schema, plugins: [scopePerOperation(app)], logging: false });
  return createServer((req, res) => void yoga(req, res)).listen(port);
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
