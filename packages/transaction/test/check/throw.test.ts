import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { transactionCheck, TransactionCheckError, unchecked } from '../../src/check/index.js';
import { publishResponse } from '../../src/host.js';
import { type IConnection, runInTransaction } from '../../src/index.js';
import { FakePool } from '../../src/testing/index.js';
import { type CheckedApp, connectionOf, useCheckedApps } from './support.js';

const checkedApp = useCheckedApps();
const start = (options = {}): CheckedApp => checkedApp({ mode: 'throw', ...options });
const inTransaction = ({ app }: CheckedApp, work: (connection: IConnection) => Promise<unknown>): Promise<unknown> =>
  runInTransaction(app, (scope) => work(connectionOf(scope)));

async function withServer(work: (url: string, requests: string[]) => Promise<void>): Promise<void> {
  const requests: string[] = [];
  const server = createServer((req, res) => {
    requests.push(String(req.method));
    res.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe("in the mode 'throw'", () => {
  it('refuses a statement on the pool, which does not run', async () => {
    const t = start();
    const work = inTransaction(t, () => t.pool.query('INSERT audit'));
    await expect(work).rejects.toBeInstanceOf(TransactionCheckError);
    expect(t.raw.stored).toEqual([]);
  });

  it('refuses a second connection, and none is checked out', async () => {
    const t = start();
    await inTransaction(t, async () => {
      await expect(t.pool.getConnection()).rejects.toMatchObject({ code: 'AMBIT_TX_CHECK' });
      expect(t.raw.out).toBe(1);
    });
    expect(t.raw.out).toBe(0);
  });

  it('refuses the statement that repeats too often, and nothing is stored', async () => {
    const t = start({ repeats: 2 });
    const work = inTransaction(t, async (connection) => {
      for (let run = 0; run < 3; run++) await connection.query('INSERT item');
    });
    await expect(work).rejects.toMatchObject({ findings: [{ kind: 'repeated-statement' }] });
    expect(t.raw.stored).toEqual([]);
  });

  it('refuses a request of node:http before it is sent', () =>
    withServer(async (url, requests) => {
      const t = start();
      const work = inTransaction(t, async () => {
        const refused = request(url).end();
        const [error] = (await once(refused, 'error').catch((reason: unknown) => [reason])) as [unknown];
        expect(error).toMatchObject({ code: 'AMBIT_TX_CHECK', findings: [{ kind: 'http-request' }] });
      });
      // Node 20 publishes it too late to be sure, so the COMMIT is refused as well.
      await work.catch((error: unknown) => expect(error).toMatchObject({ cause: { code: 'AMBIT_TX_CHECK' } }));
      await fetch(url, { method: 'POST' });
      expect(requests).toEqual(['POST']);
    }));

  it('refuses the COMMIT after a fetch(), which cannot be refused itself', () =>
    withServer(async (url) => {
      const t = start();
      const work = inTransaction(t, async (connection) => {
        await connection.query('INSERT order');
        await (await fetch(url)).text();
      });
      await expect(work).rejects.toMatchObject({
        code: 'AMBIT_TX_COMMIT_FAILED',
        cause: { code: 'AMBIT_TX_CHECK', findings: [{ kind: 'http-request' }] },
      });
      expect([t.raw.stored, t.raw.out, t.raw.violations]).toEqual([[], 0, []]);
    }));

  it('refuses the statement with which a request is over its budget', async () => {
    const t = start({ budgets: { 'POST /orders/:id': 2 } });
    const server = createServer((_req, res) => {
      const work = inTransaction(t, async (connection) => {
        for (let run = 0; run < 3; run++) await connection.query(`INSERT item${run}`);
      });
      work.catch((error: unknown) => res.end(String(error)));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const text = await (await fetch(`http://127.0.0.1:${port}/orders/7`, { method: 'POST' })).text();
    server.close();
    expect(text).toContain('3 statements ran in one request, more than 2');
    expect(t.raw.stored).toEqual([]);
  });

  it('refuses the COMMIT after a gap', async () => {
    const t = start({ gapMs: 100 });
    const work = inTransaction(t, async (connection) => {
      await connection.query('INSERT order');
      t.clock.advance(101);
    });
    await expect(work).rejects.toMatchObject({ cause: { findings: [{ kind: 'gap' }] } });
    expect(t.raw.stored).toEqual([]);
  });

  describe('the COMMIT of what a response of 400 would keep', () => {
    const respond = (
      t: CheckedApp,
      work: (connection: IConnection) => Promise<unknown>,
      status = 400,
    ): Promise<unknown> =>
      inTransaction(t, async (connection) => {
        await work(connection);
        publishResponse(t.app, status);
      });

    it('is refused, with what was written and was not undone', async () => {
      const t = start();
      const work = respond(t, async (connection) => {
        for (const id of [1, 2]) await connection.query(`INSERT INTO items VALUES (${id})`);
        await connection.query('WITH old AS (DELETE FROM carts RETURNING id) UPDATE users SET carts = 0');
        await connection.query('SAVEPOINT half');
        await connection.query('INSERT INTO undone VALUES (1)');
        await connection.query('ROLLBACK TO SAVEPOINT half');
        await connection.query('UPDATE stock SET level = 0 WHERE level < 0 RETURNING level');
        await unchecked(() => connection.query('INSERT INTO audit VALUES (1)'));
        await connection.query("SELECT 'INSERT INTO texts' FROM items FOR UPDATE");
      });
      await expect(work).rejects.toMatchObject({ code: 'AMBIT_TX_COMMIT_FAILED', cause: { code: 'AMBIT_TX_CHECK' } });
      const found = t.check.findings.map(({ message }) => message.replace(/, at .*/s, ''));
      const writes = ['2 INSERTs into items', '1 DELETE from carts, UPDATE of users'];
      expect(found).toEqual(writes.map((what) => `400 committed ${what}`));
      expect(t.raw.stored).toEqual([]);
    });

    it('is not, where nothing was written, or a success is sent', async () => {
      const t = start();
      await respond(t, (connection) => connection.query('SELECT 1'));
      await respond(t, (connection) => connection.query('INSERT INTO items VALUES (1)'), 201);
      expect(t.check.findings).toEqual([]);
    });
  });

  it('refuses at each time, and reports once', async () => {
    const t = start();
    const audit = (): Promise<unknown> => t.pool.query('INSERT audit');
    for (let run = 0; run < 2; run++) await expect(inTransaction(t, audit)).rejects.toThrow('AMBIT_TX_CHECK');
    expect(t.reported).toHaveLength(1);
  });
});

describe('assertNone()', () => {
  it('throws all findings in one error, and forgets them', async () => {
    const t = checkedApp();
    await inTransaction(t, async () => {
      await t.pool.query('INSERT audit');
      (await t.pool.getConnection()).release();
    });
    expect(() => t.check.assertNone()).toThrow(/A statement ran on the pool[^]*A second connection/);
    expect(() => t.check.assertNone()).not.toThrow();
  });
});

describe('transactionCheck() that is not enabled', () => {
  it('counts no statements, and says so', async () => {
    const counting = transactionCheck({ enabled: false }).expectStatements(1, () => undefined);
    await expect(counting).rejects.toMatchObject({ code: 'AMBIT_OPTION' });
  });

  it('returns the pool itself', () => {
    const pool = new FakePool();
    expect(transactionCheck({ enabled: false }).pool(pool)).toBe(pool);
  });

  it('is the one in production', () => {
    const pool = new FakePool();
    const { NODE_ENV } = process.env;
    process.env['NODE_ENV'] = 'production';
    try {
      expect(transactionCheck().pool(pool)).toBe(pool);
    } finally {
      process.env['NODE_ENV'] = NODE_ENV;
    }
  });
});

it.each([
  [{ mode: 'off' }, "mode must be 'report' or 'throw'"],
  [{ repeats: 0 }, 'repeats must be 1 or more'],
  [{ gapMs: -1 }, 'gapMs must be a number of milliseconds'],
  [{ report: 'log' }, 'report must be a function'],
  [{ budgets: { 'GET /': 'few' } }, 'The budget of GET / must be a number'],
  [{ allow: [{ kind: 'http' }] }, 'kind in allow must be one of outside-statement'],
  [{ allow: [{}] }, 'must have a kind, a place or a target'],
])('refuses the options %j', (options, message) => {
  expect(() => transactionCheck(options as never)).toThrow(message);
});
