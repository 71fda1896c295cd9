import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Happenings } from '@ambit/test-kit';
import { backupSqlite } from '@ambit/transaction/sqlite';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { engineOf } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { mariadb, openDatabaseOfServer, postgres, type TestDatabase } from './support/databases.js';
import { request } from './support/http.js';
import { ServiceProcess } from './support/service-process.js';

type Environment = Readonly<Record<string, string>>;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-backup-'));
  file = join(folder, 'backup');
});
afterEach(() => rmSync(folder, { recursive: true }));

const backup = ({ DATA_DIR = '' }: Environment): Promise<void> =>
  backupSqlite({ filename: join(DATA_DIR, 'ambit.db'), to: file });

test('other users of the machine can read neither the embedded database nor its backup', async () => {
  const env = { DATA_DIR: join(folder, 'data') };
  await using service = new ServiceProcess(env);
  await service.url();
  await backup(env);
  const written = [file, env.DATA_DIR, ...readdirSync(env.DATA_DIR).map((name) => join(env.DATA_DIR, name))];
  expect(written.filter((path) => (statSync(path).mode & 0o007) !== 0)).toEqual([]);
  expect(written.length).toBeGreaterThan(3);
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
    backUp: backup,
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
  await using pool = engineOf(readConfig(env).database).createPool();
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
