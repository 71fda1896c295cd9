import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Happenings } from '@ambit/test-kit';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createPool } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { mariadb, openDatabaseOfServer, postgres, type TestDatabase } from './support/databases.js';
import { request } from './support/http.js';
import { type Exit, ServiceProcess } from './support/service-process.js';

type Environment = Readonly<Record<string, string>>;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-backup-'));
  file = join(folder, 'backup');
});
afterEach(() => rmSync(folder, { recursive: true }));

const backup = (env: Environment, ...args: string[]): Promise<Exit> =>
  new ServiceProcess(env, { program: 'backup.js', args }).exit;

describe('the backup command', () => {
  test('makes a file that other users of the machine cannot read, nor the database, and never replaces one', async () => {
    const env = { DATA_DIR: join(folder, 'data') };
    await using service = new ServiceProcess(env);
    await service.url();
    expect(await backup(env, file)).toEqual({ code: 0, output: expect.stringMatching(/backup: \d+ bytes\n$/) });
    const written = [file, env.DATA_DIR, ...readdirSync(env.DATA_DIR).map((name) => join(env.DATA_DIR, name))];
    expect(written.filter((path) => (statSync(path).mode & 0o007) !== 0)).toEqual([]);
    expect(written.length).toBeGreaterThan(3);
    writeFileSync(file, 'another');
    const { code, output } = await backup(env, file);
    expect([code, readFileSync(file, 'utf8')]).toEqual([1, 'another']);
    expect(output).toContain('exists already');
  });

  test('reports that there is no database, and creates none', async () => {
    const { code, output } = await backup({ DATA_DIR: join(folder, 'none') }, file);
    expect([code, output]).toEqual([1, expect.stringContaining('ENOENT')]);
    expect([existsSync(join(folder, 'none')), existsSync(file)]).toEqual([false, false]);
  });

  test.each([
    ['prints its usage', {}, '', 64, 'npm run backup -- <file>'],
    ['refuses a database in memory', { DATA_DIR: ':memory:' }, 'x', 78, 'DATA_DIR=:memory:'],
    ['names the program of a server', { DATABASE_URL: 'postgres://ada:s3cret@127.0.0.1/shop' }, 'x', 78, 'pg_dump'],
  ])('%s', async (_what, env, target, code, words) => {
    const { output, ...exit } = await backup(env, target);
    expect([exit.code, output]).toEqual([code, expect.stringContaining(words)]);
    expect(output).not.toContain('s3cret');
  });
});

/** The procedures of docs/service/backup.md. */
interface Procedure {
  readonly name: string;
  readonly missing: boolean;
  open(name: string): Promise<Environment>;
  backUp(env: Environment): unknown;
  restore(env: Environment): unknown;
}

/** Not in the same turn: the clients of the service are in this process. */
const run = (program: string, ...args: string[]): Promise<unknown> => promisify(execFile)(program, args);

async function openUntilFinished(open: () => Promise<TestDatabase>): Promise<Environment> {
  const { env, drop } = await open();
  onTestFinished(drop);
  return env;
}

function mariadbArguments(env: Environment): string[] {
  const { hostname, port, username, pathname } = new URL(env['DATABASE_URL'] ?? '');
  return [`--host=${hostname}`, `--port=${port || 3306}`, `--user=${username}`, '--protocol=tcp', pathname.slice(1)];
}

const PROCEDURES: readonly Procedure[] = [
  {
    name: 'SQLite',
    missing: false,
    open: async (name) => ({ DATA_DIR: join(folder, name) }),
    backUp: async (env) => expect((await backup(env, file)).code).toBe(0),
    restore: ({ DATA_DIR = '' }) => {
      mkdirSync(DATA_DIR);
      copyFileSync(file, join(DATA_DIR, 'ambit.db'));
    },
  },
  {
    name: 'PostgreSQL',
    missing: postgres.missing,
    open: () => openUntilFinished(openDatabaseOfServer),
    backUp: (env) => run('pg_dump', '--format=custom', `--file=${file}`, env['DATABASE_URL'] ?? ''),
    restore: (env) =>
      execFileSync('pg_restore', ['--exit-on-error', '--no-owner', `--dbname=${env['DATABASE_URL']}`, file]),
  },
  {
    name: 'MariaDB',
    missing: mariadb.missing,
    open: () => openUntilFinished(mariadb.open),
    backUp: (env) => run('mariadb-dump', '--single-transaction', `--result-file=${file}`, ...mariadbArguments(env)),
    restore: (env) => execFileSync('mariadb', mariadbArguments(env), { input: readFileSync(file) }),
  },
];

const STOCK = 1_000_000;
const QUANTITY = 3;
const CLIENTS = 4;

/** The ids of the orders, how many rows each table has that a whole order stores once, and what is left. */
async function stored(env: Environment): Promise<{ orders: string[]; counts: number[]; level: number }> {
  await using pool = createPool(readConfig(env).database);
  const rows = async (table: string): Promise<number> => (await pool.query(`SELECT * FROM ${table}`)).length;
  const orders = (await pool.query<{ id: string }>('SELECT id FROM orders')).map(({ id }) => id);
  const counts = [await rows('order_items'), await rows('reservations'), await rows('idempotency_keys')];
  const [stock] = await pool.query(`SELECT level FROM stock WHERE product_id = 'apple'`);
  return { orders, counts, level: Number(stock?.['level']) };
}

describe.each(PROCEDURES)('a backup of $name while orders are placed', ({ missing, open, backUp, restore }) => {
  test.skipIf(missing)('has each that was acknowledged before, no part of one, and goes on', async () => {
    const env = await open('data');
    await using service = new ServiceProcess(env);
    const url = await service.url();
    await new ServiceProcess(env, { program: 'stock.js', args: ['set', 'apple', String(STOCK)] }).exit;
    const body = { items: [{ productId: 'apple', quantity: QUANTITY }] };
    const order = (at: string, key: string) =>
      request<{ id: string }>(at, { method: 'POST', path: '/api/orders', body, headers: { 'idempotency-key': key } });

    const acknowledged = new Map<string, string>();
    const happenings = new Happenings();
    const over = new AbortController();
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const key = `key-${client}-${n}`;
        const response = await order(url, key);
        expect(response.status).toBe(201);
        acknowledged.set(key, response.body.id);
        happenings.tell();
      }
    });
    await Promise.race([happenings.until(() => acknowledged.size >= 50, '50 orders', 50_000), ...clients]);
    const before = new Map(acknowledged);
    await backUp(env);
    over.abort();
    await Promise.all(clients);
    expect(acknowledged.size).toBeGreaterThan(before.size);

    const restored = await open('restored');
    await restore(restored);
    const { orders, counts, level } = await stored(restored);
    expect(orders).toEqual(expect.arrayContaining([...before.values()]));
    expect(counts).toEqual(counts.map(() => orders.length));
    expect(level).toBe(STOCK - QUANTITY * orders.length);

    await using again = new ServiceProcess(restored);
    const [[key = '', id] = []] = before;
    const replayed = await order(await again.url(), key);
    expect([replayed.body.id, replayed.headers.get('idempotency-replayed')]).toEqual([id, 'true']);
    expect((await order(await again.url(), 'new')).status).toBe(201);
    expect((await stored(restored)).level).toBe(level - QUANTITY);
  });
});
