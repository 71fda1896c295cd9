import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { IContainer } from '@ambit/container';
import { hasPostgres, openSchema, type PostgresSchema } from '@ambit/test-kit';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { record } from '../src/index.js';
// @ts-expect-error -- a program of a user, without types
import * as given from './support/shop.mjs';

interface Outcome {
  readonly fault: string;
  readonly recorded: readonly unknown[];
  readonly again: readonly unknown[];
  readonly divergence?: string;
  readonly fixed: unknown;
}

interface Shop {
  readonly SCHEMA: readonly string[];
  readonly CASES: readonly { readonly fault: string; readonly host: string }[];
  createShop(parts: object): Promise<{
    readonly container: IContainer;
    readonly hosts: {
      readonly Express: RequestListener;
      readonly Fastify: { ready(): PromiseLike<unknown>; readonly server: Server };
      readonly 'node:http': Server;
    };
  }>;
}

const { CASES, createShop, SCHEMA } = given as Shop;

async function listening(server: Server): Promise<string> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.skipIf(!hasPostgres)(
  'failures of a running service are the same in a process without a database, and pass when they are corrected',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'replay-'));
    const schema: PostgresSchema = await openSchema();
    for (const sql of SCHEMA) await schema.admin.query(sql);
    const others = new Client({ connectionString: schema.url() });
    others.on('error', () => undefined);
    await others.connect();
    const pool = createPostgresPool({ connectionString: schema.url(), max: 5 });
    const upstream = createServer((request, response) => {
      if (request.url === '/text') response.end('not JSON');
      else response.writeHead(503, { 'content-type': 'application/json' }).end('{"why": "closed"}');
    });
    const { hosts, container } = await createShop({
      pool,
      isFixed: false,
      upstream: await listening(upstream),
      meanwhile: (sql: string) => others.query(sql),
    });
    await hosts.Fastify.ready();
    const servers = {
      Express: createServer(hosts.Express),
      Fastify: hosts.Fastify.server,
      'node:http': hosts['node:http'],
    };
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
        const leaves = one.fault === 'a client that leaves' ? { signal: AbortSignal.timeout(100) } : {};
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ ...one, upstream: await listening(upstream) });
        await fetch(`${address}/shop`, { method: 'POST', headers, body, ...leaves }).catch(() => undefined);
        await expect.poll(() => recorder.kept, { timeout: 5000, message: one.fault }).toBe(i + 1);
      }
    } finally {
      recorder.stop();
      console.error = quiet;
      for (const server of Object.values(servers)) server.closeAllConnections();
      for (const server of [...Object.values(servers), upstream]) server.close();
      await pool.close();
      await others.end();
      await schema.drop();
    }

    const child = join(import.meta.dirname, 'support/replays.mjs');
    // Another time zone, and no address of a database.
    const env = { PATH: process.env['PATH'], TZ: 'Asia/Tokyo' };
    const { stdout } = await promisify(execFile)(process.execPath, [child, folder], { env, maxBuffer: 2 ** 24 });
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
  },
);
