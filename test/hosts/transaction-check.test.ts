import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Container, type IContainer } from '@ambit/container';
import { containerPlugin, transactionPlugin } from '@ambit/fastify';
import { createHandler, errorResponse, withTransaction as inTransaction } from '@ambit/fetch';
import { containerMiddleware, withTransaction } from '@ambit/hono';
import { type IConnection, runInTransaction } from '@ambit/transaction';
import { type TransactionCheck, transactionCheck } from '@ambit/transaction/check';
import { FakePool } from '@ambit/transaction/testing';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { everyHost } from './adapters/every.js';
import { fetchHost } from './adapters/fetch.js';
import type { AppDescription, Call, Reply, RunningHost } from '@ambit/testing/hosts';

const turn = (): Promise<void> => new Promise(setImmediate);

/** `file:line` of the line that ends with the comment `// <mark>`. */
function lineOf(mark: string): string {
  const lines = readFileSync(import.meta.filename, 'utf8').split('\n');
  return `${relative(process.cwd(), import.meta.filename)}:${lines.findIndex((line) => line.endsWith(`// ${mark}`)) + 1}`;
}

describe.each(everyHost)('the transaction check on $name', (host) => {
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
    handle: (call: Call) => Promise<Reply | void>,
    options: Partial<AppDescription> & { transaction?: boolean; responseDecides?: boolean } = {},
  ) {
    const { transaction = true, responseDecides = false, ...others } = options;
    running = await host.start({
      container,
      routes: [
        {
          method: 'GET',
          path: '/orders',
          ...(transaction && { transaction: {} }),
          responseDecides,
          handle: async (call) => (await handle(call)) ?? { kind: 'json', body: {} },
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

  const connectionOf = ({ transactionScope }: Call): IConnection => transactionScope.resolve('IConnection');
  const refusal = (statusCode: number): Error => Object.assign(new Error('refused'), { statusCode });

  it('finds what was committed with a response that says that the work was refused', async () => {
    const ask = await serve(
      async (call) => {
        await connectionOf(call).query('SELECT level FROM stock FOR UPDATE');
        await connectionOf(call).query('INSERT INTO orders (id) VALUES (7)'); // ordered
        return { kind: 'json', status: 400, body: {} };
      },
      { responseDecides: true },
    );
    expect([await ask(), pool.stored.length]).toEqual([400, 2]);
    expect(check.findings).toMatchObject([
      { message: expect.stringMatching(/^400 committed 1 INSERT into orders, at /), status: 400 },
    ]);
    expect(found()).toEqual([['error-committed', lineOf('ordered'), 'GET /orders']]);
  });

  it('finds what was rolled back with an error that says that the client was refused', async () => {
    const ask = await serve(
      async (call) => {
        await connectionOf(call).query('UPDATE users SET failures = failures + 1'); // counted
        throw refusal(401);
      },
      { responseDecides: true },
    );
    expect([await ask(), pool.stored]).toEqual([401, []]);
    expect(check.findings).toMatchObject([
      { message: expect.stringMatching(/^401 rolled back 1 UPDATE of users, at /), status: 401 },
    ]);
    expect(found()).toEqual([['error-rolled-back', lineOf('counted'), 'GET /orders']]);
  });

  it('finds nothing where the status and the work agree', async () => {
    let status = 401;
    const ask = await serve(
      async (call) => {
        await connectionOf(call).query(status === 403 ? 'SELECT level FROM stock' : 'UPDATE users SET failures = 1');
        if (status === 409) throw refusal(status);
        return { kind: 'json', status, body: {} };
      },
      { responseDecides: true },
    );
    for (status of [200, 401, 403, 409, 500]) expect(await ask()).toBe(status);
    expect(found()).toEqual([]);
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

  it('counts the statements of a request, and names each of them with its line, the most frequent first', async () => {
    const ask = await serve(async (call) => {
      await connectionOf(call).query('SELECT id FROM orders'); // listed
      for (const id of [1, 2, 3]) await connectionOf(call).query(`SELECT level FROM stock WHERE id = ${id}`); // each
    });
    expect(await check.expectStatements(4, ask)).toBe(200);
    const lines = [
      `4 statements ran in one piece of work, more than 3, at ${lineOf('each')}`,
      `3 x SELECT level FROM stock WHERE id = ?, at ${lineOf('each')}`,
      `1 x SELECT id FROM orders, at ${lineOf('listed')}`,
    ];
    const error: unknown = await check.expectStatements(3, ask).catch((reason: unknown) => reason);
    expect(String(error).split('\n')).toEqual(lines.map((line): unknown => expect.stringContaining(line)));
    expect(check.findings).toEqual([]);
  });

  it('finds a request that runs more statements than its route may', async () => {
    check.stop();
    check = transactionCheck({ report: () => undefined, budgets: { 'GET /orders': 2, '*': 0 } });
    pool = check.pool(pool);
    let times = 2;
    const ask = await serve(async (call) => {
      for (let run = 0; run < times; run++) await connectionOf(call).query(`SELECT a${run}`); // over
    });
    await ask();
    expect(found()).toEqual([]);
    times = 3;
    await ask();
    expect(found()).toEqual([['too-many-statements', lineOf('over'), 'GET /orders']]);
  });

  it('is recorded for `ambit check`, with its route, also where the check is not enabled', async () => {
    check.stop();
    const folder = await mkdtemp(join(tmpdir(), 'recorded-'));
    vi.stubEnv('RECORD_TRANSACTIONS_TO', folder);
    check = transactionCheck({ enabled: false });
    vi.unstubAllEnvs();
    pool = check.pool(pool);
    const ask = await serve(async (call) => {
      await connectionOf(call).query('UPDATE stock SET level = 1');
      await connectionOf(call).query('UPDATE orders SET status = 2');
      await pool.query('INSERT audit'); // audited
    });
    await ask();
    await ask();
    const written = async (): Promise<unknown[]> => {
      const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
      return files.flatMap((text) => text.trim().split('\n')).map((line): unknown => JSON.parse(line));
    };
    const audit = 'outside-statement INSERT audit';
    await expect.poll(written).toEqual([
      {
        route: 'GET /orders',
        statements: { 'UPDATE stock SET level = ?': 1, 'UPDATE orders SET status = ?': 1, 'INSERT audit': 1 },
        most: 3,
        held: 2,
        locks: { 'stock > orders': true },
        effects: { [audit]: true },
        at: expect.objectContaining({ [audit]: [lineOf('audited')] }),
      },
    ]);
    expect(check.findings).toEqual([]);
    await rm(folder, { recursive: true });
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
});

describe('the transaction check without a socket', () => {
  type Asks = (statusOf: (scope: IContainer) => Promise<number>) => () => Promise<number>;
  const hosts: Readonly<Record<string, (container: Container) => Asks>> = {
    'inject() of Fastify': (container) => (statusOf) => {
      const app = fastify();
      void app.register(containerPlugin, { container });
      void app.register(transactionPlugin);
      app.after(() => {
        app.get('/', { config: { transaction: true } }, async (request, reply) =>
          reply.code(await statusOf(request.transactionScope as IContainer)).send({}),
        );
      });
      return async () => (await app.inject('/')).statusCode;
    },
    'request() of Hono': (container) => (statusOf) => {
      const app = new Hono();
      app.use(containerMiddleware(container), withTransaction());
      app.onError((error, c) => c.json({}, (error as unknown as { statusCode: 401 }).statusCode));
      app.get('/', async (c) => c.json({}, (await statusOf(c.get('transactionScope') as IContainer)) as 200));
      return async () => (await app.request('/')).status;
    },
    'a fetch handler': (container) => (statusOf) => {
      const handler = createHandler(
        container,
        inTransaction(async (_request, scope) => Response.json({}, { status: await statusOf(scope) })),
        { onError: errorResponse },
      );
      return async () => (await handler(new Request('http://localhost/'))).status;
    },
  };

  it.each(Object.entries(hosts))('knows the route, and the status when the client has it, of %s', async (_name, on) => {
    using check = transactionCheck({ report: () => undefined, budgets: { 'GET /': 0 } });
    const container = new Container({ tags: ['application'] });
    container.register('IDatabasePool', () => check.pool(new FakePool()));
    const asks = on(container);
    for (const [status, kind, fails] of [
      [409, 'error-committed', false],
      [401, 'error-rolled-back', true],
    ] as const) {
      const ask = asks(async (scope) => {
        await scope.resolve<IConnection>('IConnection').query(`INSERT INTO t_${status} DEFAULT VALUES`);
        if (fails) throw Object.assign(new Error('refused'), { statusCode: status });
        return status;
      });
      expect(await ask()).toBe(status);
      expect(check.findings.find((finding) => finding.kind === kind)).toMatchObject({ status, route: 'GET /' });
    }
    const over = check.findings.find(({ kind }) => kind === 'too-many-statements');
    expect(over).toMatchObject({ count: 2, route: 'GET /' });
  });
});
