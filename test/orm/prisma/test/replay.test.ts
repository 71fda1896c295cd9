import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { record } from '@ambit/replay';
import type { IDatabasePool } from '@ambit/transaction';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { openApp } from '../../../libraries/app.js';
import { CASES, createShop } from '../replay/shop.mjs';
import { MARIADB_SCHEMA, POSTGRES_SCHEMA } from '../replay/ways.mjs';

interface Outcome {
  readonly fault: string;
  readonly recorded: readonly unknown[];
  readonly again: readonly unknown[];
  readonly divergence?: string;
  readonly fixed: unknown;
}

async function listening(server: Server): Promise<string> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function create(pool: IDatabasePool, schema: readonly string[]): Promise<void> {
  for (const sql of schema) await pool.query(sql);
}

test('failures of a busy service are the same in a process without a database, and pass when they are corrected', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'replay-'));
  const [postgres, mariadb] = [await openApp('PostgreSQL'), await openApp('MariaDB')];
  await create(postgres.pool, POSTGRES_SCHEMA);
  await create(mariadb.pool, MARIADB_SCHEMA);
  const others = new Client({ connectionString: postgres.address });
  others.on('error', () => undefined);
  await others.connect();
  const upstream = createServer((request, response) => {
    if (request.url === '/text') response.end('not JSON');
    else response.writeHead(503, { 'content-type': 'application/json' }).end('{"why": "closed"}');
  });
  const { servers, container } = await createShop({
    postgres: postgres.pool,
    mariadb: mariadb.pool,
    schema: postgres.schema,
    isFixed: false,
    upstream: await listening(upstream),
    meanwhile: (sql: string) => others.query(sql),
  });
  const quiet = console.error;
  console.error = () => undefined;
  const recorder = record(container, {
    folder,
    when: ({ status, error }) => status === undefined || error !== undefined,
    maxFiles: 1000,
  });
  try {
    for (const [i, one] of CASES.entries()) {
      const address = await listening(servers[one.host as keyof typeof servers]);
      const post = (fault: string, init: RequestInit = {}): Promise<unknown> =>
        listening(upstream).then((url) => {
          const body = JSON.stringify({ ...one, fault, upstream: url });
          const headers = { 'content-type': 'application/json' };
          return fetch(`${address}/shop`, { method: 'POST', headers, body, ...init }).then((response) =>
            response.text(),
          );
        });
      const load = Array.from({ length: 3 }, () => post('none'));
      const leaves = one.fault === 'a client that leaves' ? { signal: AbortSignal.timeout(100) } : {};
      await post(one.fault, leaves).catch(() => undefined);
      await Promise.all(load);
      const message = `${one.fault}, ${one.way}`;
      await expect.poll(() => recorder.kept, { message }).toBe(i + 1);
    }
  } finally {
    recorder.stop();
    console.error = quiet;
    for (const server of [...Object.values(servers), upstream]) {
      server.closeAllConnections();
      server.close();
    }
    await others.end();
    await postgres.drop();
    await mariadb.drop();
  }

  const child = join(import.meta.dirname, '../replay/replays.mjs');
  // Another time zone, and no address of a database.
  const env = { PATH: process.env['PATH'], TZ: 'Asia/Tokyo' };
  const options = { env, maxBuffer: 2 ** 24 };
  const { stdout } = await promisify(execFile)(process.execPath, [child, folder, postgres.schema], options);
  const outcomes = JSON.parse(stdout) as Outcome[];
  await rm(folder, { recursive: true });
  // Drizzle writes the time of an order into the message; made by the handler, it may differ by a millisecond.
  const shown = (one: readonly unknown[]): string => JSON.stringify(one).replaceAll(/[\d-]+T[\d:.]+Z/g, 'now');
  const differing = outcomes.filter(
    ({ recorded, again, divergence }) => divergence ?? shown(recorded) !== shown(again),
  );
  expect(outcomes.length).toBe(CASES.length);
  expect(differing).toEqual([]);
  expect(outcomes.filter(({ fixed }) => fixed !== 'left' && !(Number(fixed) < 500))).toEqual([]);
}, 120_000);
