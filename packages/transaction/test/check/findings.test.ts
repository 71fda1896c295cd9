import { once } from 'node:events';
import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Container, hasTag, Registration, scope, singleton } from '@ambit/container';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unchecked } from '../../src/check/index.js';
import { type IConnection, type IDatabasePool, runInTransaction } from '../../src/index.js';
import { type CheckedApp, connectionOf, kindsOf, lineOf, placeOf, useCheckedApps } from './support.js';

const checkedApp = useCheckedApps();
const FILE = import.meta.filename;
const at = (mark: string): string => lineOf(FILE, mark);

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((_req, res) => res.end('a price')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prices`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const inTransaction = ({ app }: CheckedApp, work: (connection: IConnection) => Promise<unknown>): Promise<unknown> =>
  runInTransaction(app, (inner) => work(connectionOf(inner)));

it('finds a statement on the pool while a transaction is open, with its line', async () => {
  const t = checkedApp();
  await inTransaction(t, async () => {
    await t.pool.query("INSERT INTO audit VALUES ('a secret')"); // on the pool
  });
  expect(t.check.findings).toMatchObject([
    { kind: 'outside-statement', sql: 'INSERT INTO audit VALUES (?)', count: 1 },
  ]);
  expect(placeOf(t.check.findings[0]!)).toBe(at('on the pool'));
});

it('finds a statement on another connection while a transaction is open', async () => {
  const t = checkedApp();
  const other = await t.pool.getConnection();
  await inTransaction(t, async () => {
    await other.query('SELECT 1'); // on another
  });
  other.release();
  expect(t.check.findings.map(placeOf)).toEqual([at('on another')]);
});

it('finds a second connection while a transaction is open on the first', async () => {
  const t = checkedApp();
  await inTransaction(t, async () => {
    await runInTransaction(t.app, async () => undefined); // second
  });
  expect(kindsOf(t)).toEqual(['second-connection']);
  expect(t.check.findings.map(placeOf)).toEqual([at('second')]);
});

it('finds a fetch() while a transaction is open, and shows it without its query', async () => {
  const t = checkedApp();
  await inTransaction(t, async () => {
    await fetch(`${url}?key=secret`); // fetched
  });
  expect(t.check.findings).toMatchObject([{ kind: 'http-request', target: `GET ${url}` }]);
  expect(t.check.findings.map(placeOf)).toEqual([at('fetched')]);
});

it('finds a request of node:http while a transaction is open', async () => {
  const t = checkedApp();
  await inTransaction(t, async () => {
    const request = get(`${url}?key=secret`); // got
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
    response.resume();
  });
  expect(t.check.findings).toMatchObject([{ kind: 'http-request', target: `GET ${url}` }]);
  expect(t.check.findings.map(placeOf)).toEqual([at('got')]);
});

it('finds a gap between two statements, with the lines before and after it', async () => {
  const t = checkedApp({ gapMs: 100 });
  await inTransaction(t, async (connection) => {
    await connection.query('INSERT one'); // before the gap
    t.clock.advance(101);
    await connection.query('INSERT two'); // after the gap
  });
  const [gap] = t.check.findings;
  expect(gap).toMatchObject({ kind: 'gap', message: expect.stringContaining('open for 101 ms without a statement') });
  expect([placeOf(gap!), placeOf({ place: gap?.until })]).toEqual([at('before the gap'), at('after the gap')]);
});

it('finds a gap before COMMIT and before ROLLBACK', async () => {
  const t = checkedApp({ gapMs: 100 });
  await inTransaction(t, async (connection) => {
    await connection.query('INSERT one'); // before COMMIT
    t.clock.advance(101);
  });
  const failed = inTransaction(t, async (connection) => {
    await connection.query('INSERT one'); // before ROLLBACK
    t.clock.advance(101);
    throw new Error('sold out');
  });
  await expect(failed).rejects.toThrow('sold out');
  expect(t.check.findings.map(placeOf)).toEqual([at('before COMMIT'), at('before ROLLBACK')]);
});

it('finds no gap where a statement takes long', async () => {
  const t = checkedApp({ gapMs: 100 });
  await inTransaction(t, async (connection) => {
    const slow = connection.query('SELECT slow');
    t.clock.advance(101);
    await slow;
  });
  expect(kindsOf(t)).toEqual([]);
});

it('finds a statement that repeats in a transaction, whatever values are written into it', async () => {
  const t = checkedApp({ repeats: 3 });
  await inTransaction(t, async (connection) => {
    for (const id of [1, 2, 3, 4]) await connection.query(`SELECT * FROM products WHERE id = ${id}`); // repeated
  });
  expect(t.check.findings).toMatchObject([
    {
      kind: 'repeated-statement',
      sql: 'SELECT * FROM products WHERE id = ?',
      message: expect.stringContaining('4 times'),
    },
  ]);
  expect(t.check.findings.map(placeOf)).toEqual([at('repeated')]);
});

it('counts a statement of each transaction alone, and no savepoints', async () => {
  const t = checkedApp({ repeats: 3 });
  for (let run = 0; run < 4; run++) await inTransaction(t, (connection) => connection.query('SELECT 1'));
  await runInTransaction(t.app, async (outer) => {
    for (let run = 0; run < 4; run++) await runInTransaction(outer, () => connectionOf(outer).query(`SELECT a${run}`));
  });
  expect(kindsOf(t)).toEqual([]);
});

it('says where the transaction was begun, and which service ran the code', async () => {
  class AuditLog {
    constructor(readonly pool: IDatabasePool) {}
    async write(): Promise<void> {
      await this.pool.query('INSERT audit');
    }
  }
  const t = checkedApp();
  t.app.addRegistration(
    Registration.fromClass(AuditLog, ['IDatabasePool'])
      .pipe(singleton(), scope(hasTag('application')))
      .to('IAuditLog'),
  );
  await runInTransaction(t.app, async () => t.app.resolve<AuditLog>('IAuditLog').write()); // begun
  const [finding] = t.check.findings;
  expect(finding?.key).toBe('IAuditLog');
  expect(placeOf({ place: finding?.begun })).toBe(at('begun'));
  expect(finding?.message).toMatch(
    /, INSERT audit, at \S+:\d+:\d+ \(IAuditLog\), in the transaction begun at \S+ \[npx ambit explain AMBIT_TX_CHECK\]/,
  );
});

it('reports each place once, and counts', async () => {
  const t = checkedApp();
  const writeAudit = (): Promise<unknown> => t.pool.query('INSERT audit');
  for (let run = 0; run < 3; run++) await inTransaction(t, writeAudit);
  await inTransaction(t, () => t.pool.query('INSERT audit'));
  expect(t.reported).toHaveLength(2);
  expect(t.check.findings.map(({ count }) => count)).toEqual([3, 1]);
});

it('reports to a process warning by default, and survives a reporter that fails', async () => {
  const warnings: unknown[] = [];
  const collect = (warning: unknown): void => void warnings.push(warning);
  process.on('warning', collect);
  const failing = checkedApp({
    report: () => {
      throw new Error('no log');
    },
  });
  await inTransaction(failing, () => failing.pool.query('SELECT 1'));
  await new Promise(setImmediate);
  process.off('warning', collect);
  expect(warnings).toMatchObject([{ message: 'no log' }]);
});

it('leaves out what is allowed: a kind, a file, a line, or a kind at a place', async () => {
  const file = 'check/findings.test.ts';
  const both = [
    { kind: 'gap', place: file },
    { kind: 'outside-statement', place: 'elsewhere.ts' },
  ] as const;
  const findings = [];
  for (const allow of [
    [{ kind: 'outside-statement' }],
    [{ place: file }],
    [{ place: at('allowed').split('/').slice(-2).join('/') }],
    both,
  ] as const) {
    const t = checkedApp({ allow });
    await inTransaction(t, () => t.pool.query('SELECT 1')); // allowed
    findings.push(t.check.findings.length);
  }
  expect(findings).toEqual([0, 0, 0, 1]);
});

it('finds nothing in unchecked()', async () => {
  const t = checkedApp({ repeats: 1 });
  await inTransaction(t, (connection) =>
    unchecked(async () => {
      await t.pool.query('SELECT 1');
      await fetch(url);
      await runInTransaction(t.app, (inner) => connectionOf(inner).query('INSERT attempt'));
      for (let run = 0; run < 3; run++) await connection.query('SELECT 1');
    }),
  );
  expect(kindsOf(t)).toEqual([]);
});

it('calls what is unchecked where there is no check', () => {
  expect(unchecked(() => 'called')).toBe('called');
});

it('finds nothing in a container of another transaction-less application', async () => {
  const t = checkedApp();
  const app = new Container();
  app.register('IDatabasePool', () => t.pool);
  for (let run = 0; run < 20; run++) await t.pool.query('SELECT 1');
  await fetch(url);
  expect(kindsOf(t)).toEqual([]);
});
