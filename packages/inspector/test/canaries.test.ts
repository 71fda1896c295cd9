import { get } from 'node:http';
import { type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { TenantScopes } from '@ambit/transaction/tenants';
import { expect, it, onTestFinished } from 'vitest';
import { Container, Registration } from '@ambit/container';
import { command as inspect } from '../src/command.js';
import type { RequestSummary } from '../src/wire.js';
import { hosts, type RunningApp, SCOPES } from './support/app.js';

/** Its class, its code and lines of its message are like those of a stack. */
const thrown = Object.assign(
  new (class extends Error {
    static override readonly name = 'the class of a canary';
  })('a canary in a message\n    at canary (/canary.js:1:1)'),
  { code: 'canary in a code', status: 'canary', detail: 'canary' },
);

const STATEMENTS = [
  'SELECT \'canary\' AS name, "canary" /* canary */ -- canary',
  "INSERT INTO users (name) VALUES ('canary'), ('canary')",
  "SELECT 'canary",
  String.raw`SELECT 'it\'s a canary', 'canary'`,
  'SELECT "ada@canary.example"',
];

const PATHS = ['/path', '/tenant', '/transaction', '/factory', '/call', '/response', '/nowhere', '/sql'];

/** Values of users, wherever a request may have one. */
it.each(hosts)('values are on no message and no response of the inspector on $name', async (host) => {
  const pool = createSqlitePool({ path: ':memory:' });
  await pool.query('CREATE TABLE users (name TEXT UNIQUE)');
  const container = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromValue('canary in a value').to('ISecret'),
    Registration.fromFactory((): never => {
      throw thrown;
    }).to('IBroken'),
  );
  container.register('IDatabasePool', () => pool);
  const tenants = new TenantScopes(container, {
    register: (scope, tenant) => void scope.register('ITenant', () => tenant),
  });
  const app: RunningApp = await host.start(
    { container, scopes: [SCOPES, { tags: ['tenant'] }], always: true },
    {
      '/path': () => undefined,
      '/tenant': async () => {
        const scope = await tenants.scopeOf('canary');
        const inner = scope.createScope({ tags: ['request'] });
        inner.resolve('ITenant');
        await inner.dispose();
      },
      '/sql': async (scope) => {
        const database = scope.resolve<IDatabasePool>('IDatabasePool' as string);
        for (const sql of STATEMENTS) await database.query(sql).catch(() => undefined);
      },
      '/transaction': (scope) =>
        runInTransaction(scope, () => {
          throw thrown;
        }),
      '/factory': (scope) => scope.resolve('IBroken'),
      '/call': async () => {
        const { port } = new URL(app.url);
        const address = `http://canary:canary@127.0.0.1:${port}/canary?canary=canary#canary`;
        await new Promise((resolve) =>
          get(address, { headers: { host: 'canary.example' } }, (response) => response.resume().on('end', resolve)),
        );
        await fetch(`http://127.0.0.1:${port}/canary?canary`, { headers: { 'x-secret': 'canary' } });
        await fetch('http://127.0.0.1:1/canary').catch(() => undefined);
      },
      '/response': () => {
        throw thrown;
      },
    },
  );
  onTestFinished(() => app.close());

  const headers = { 'x-request-id': 'canary', cookie: 'session=canary', authorization: 'Bearer canary' };
  for (const path of PATHS) {
    await fetch(`${app.url}${path}/canary?query=canary#canary`, { headers });
    await fetch(`${app.url}${path}/canary`, { method: 'POST', headers, body: '{"name":"canary"}' });
  }
  // With the two that it sends to itself.
  const all = 2 * PATHS.length + 2;
  const requests = (): Promise<RequestSummary[]> => app.read('requests');
  await expect
    .poll(async () => (await requests()).filter(({ state, open }) => state !== 'open' && open === 0).length)
    .toBe(all);
  const sent = [JSON.stringify(await app.read('state'))];
  const print = (text: string): void => void sent.push(text);
  const ids = (await requests()).map(({ id }) => ['request', '--id', String(id)]);
  const keys = ['ISecret', 'IBroken', 'IDatabasePool'].flatMap((key) => [
    ['explain', '--key', key],
    ['graph', '--key', key],
  ]);
  const views = ['troubles', 'requests', 'statements', 'now', 'graph', 'tools'];
  for (const args of [...views.map((view) => [view]), ...ids, ...keys])
    for (const as of [[], ['--json']]) {
      const terminal = { token: undefined, print, complain: print };
      expect(await inspect([...args, ...as, '--url', `${app.url}/inspector`], terminal)).toBe(0);
    }
  expect(sent.join('')).toContain('failed handler');
  // A name in double quotes is that of a column, unless there is none.
  const leaks = sent.flatMap((text) => text.replaceAll(/\\?"canary\\?"/g, '').match(/.{0,60}canary.{0,60}/g) ?? []);
  expect(leaks).toEqual([]);
});
