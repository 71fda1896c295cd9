import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Container } from '@ambit/container';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import { FakePool } from '@ambit/transaction/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { express4Host, expressHost } from './hosts/express.js';
import { fastifyHost } from './hosts/fastify.js';
import { fetchHost } from './hosts/fetch.js';
import { honoHost } from './hosts/hono.js';
import type { AppDescription, Call, RunningHost } from './hosts/host.js';
import { nodeHost } from './hosts/node.js';

const turn = (): Promise<void> => new Promise(setImmediate);

/** `file:line` of the line that ends with the comment `// <mark>`. */
function lineOf(mark: string): string {
  const lines = readFileSync(import.meta.filename, 'utf8').split('\n');
  return `${relative(process.cwd(), import.meta.filename)}:${lines.findIndex((line) => line.endsWith(`// ${mark}`)) + 1}`;
}

describe.each([expressHost, express4Host, fastifyHost, nodeHost, fetchHost, honoHost])(
  'the transaction check on $name',
  (host) => {
    let check: TransactionCheck;
    let pool: FakePool;
    let container: Container;
    let running: RunningHost | undefined;

    beforeEach(() => {
      check = transactionCheck({ report: () => undefined, gapMs: Infinity, repeats: 3 });
      pool = check.pool(new FakePool({ max: 10 }));
      container = new Container({ tags: ['application'] });
      container.register('IDatabasePool', () => pool);
    });
    afterEach(async () => {
      await running?.close();
      check.stop();
    });

    const found = (): unknown[] =>
      check.findings.map(({ kind, place, route }) => [kind, place && `${place.file}:${place.line}`, route]);

    async function serve(
      handle: (call: Call) => Promise<void>,
      options: Partial<AppDescription> & { transaction?: boolean } = {},
    ) {
      const { transaction = true, ...others } = options;
      running = await host.start({
        container,
        routes: [
          {
            method: 'GET',
            path: '/orders',
            ...(transaction && { transaction: {} }),
            handle: async (call) => {
              await handle(call);
              return { kind: 'json', body: {} };
            },
          },
        ],
        onDisposeError: (error) => expect.unreachable(String(error)),
        onError: () => undefined,
        ...others,
      });
      return async () => (await fetch(`http://127.0.0.1:${running?.port}/orders`)).status;
    }

    it('finds a statement on the pool in a handler with a transaction, with its route and line', async () => {
      const ask = await serve(async () => {
        await turn();
        await pool.query('INSERT audit'); // in the handler
      });
      expect(await ask()).toBe(200);
      expect(found()).toEqual([['outside-statement', lineOf('in the handler'), 'GET /orders']]);
    });

    it('finds a second connection in a handler with a transaction', async () => {
      const ask = await serve(async ({ scope }) => {
        await runInTransaction(scope, turn, { propagation: 'requires-new' }); // second connection
      });
      await ask();
      expect(found()).toEqual([['second-connection', lineOf('second connection'), 'GET /orders']]);
    });

    it('finds nothing in what a handler does before, beside and after its transaction', async () => {
      const ask = await serve(
        async ({ scope }) => {
          const beside = async (): Promise<void> => {
            for (const table of ['a', 'b', 'c']) {
              await turn();
              await pool.query(`SELECT ${table}`);
            }
          };
          await pool.query('SELECT before');
          await Promise.all([
            beside(),
            runInTransaction(scope, async (inner) => {
              await inner.resolve<IConnection>('IConnection').query('INSERT a');
              await turn();
            }),
            beside(),
          ]);
          await pool.query('SELECT after');
        },
        { transaction: false, scopeOptions: {} },
      );
      expect(await ask()).toBe(200);
      expect(found().filter((finding) => (finding as string[])[0] !== 'repeated-statement')).toEqual([]);
    });

    it('finds nothing in other requests, also on the same connection', async () => {
      let isFirst = true;
      const ask = await serve(async () => {
        if (isFirst) isFirst = false;
        else for (let times = 0; times < 3; times++) await turn();
      });
      await Promise.all(Array.from({ length: 8 }, ask));
      expect(found()).toEqual([]);
    });

    it('counts the statements of each request alone', async () => {
      const ask = await serve(
        async () => {
          for (let times = 0; times < 3; times++) await pool.query('SELECT product');
        },
        { transaction: false },
      );
      for (let request = 0; request < 3; request++) await ask();
      expect(found()).toEqual([]);
    });

    it('finds a statement that repeats in one request without a transaction', async () => {
      const ask = await serve(
        async () => {
          for (let times = 0; times < 4; times++) await pool.query('SELECT product'); // repeated
        },
        { transaction: false },
      );
      await ask();
      expect(found()).toEqual([['repeated-statement', lineOf('repeated'), 'GET /orders']]);
    });

    it('finds nothing in a middleware that goes on while the transaction is open', async () => {
      if (host === fetchHost) return;
      const done: Promise<unknown>[] = [];
      const ask = await serve(
        async () => {
          for (let times = 0; times < 10; times++) await turn();
        },
        {
          before: (_request, next) => {
            next();
            done.push(
              turn()
                .then(turn)
                .then(turn)
                .then(() => pool.query('INSERT visit')),
            );
          },
        },
      );
      await ask();
      await Promise.all(done);
      expect([done.length, found()]).toEqual([1, []]);
    });
  },
);
