import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';

const postgres = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test';
const main = fileURLToPath(new URL('../../service/dist/main.js', import.meta.url));
/** The data of the tests, which are in every table that a request can write. */
export const TABLES = ['users', 'orders', 'order_items', 'stock', 'reservations', 'idempotency_keys'];

let started = 0;

/**
 * The service, built as it is deployed, on a database of its own.
 * @param {number} poolSize
 */
export async function startService(poolSize) {
  const name = `ambit_playwright_${process.pid}_${(started += 1)}`;
  await asAdmin(`CREATE DATABASE ${name}`);
  const url = new URL(postgres);
  url.pathname = name;
  const env = { PORT: '0', SANDBOX: '1', DATABASE_URL: url.href, DATABASE_POOL_SIZE: String(poolSize) };
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return {
    url: await listening(child),
    database: url.href,
    stop: async () => {
      child.kill('SIGTERM');
      await once(child, 'close');
      await asAdmin(`DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

/**
 * @template T
 * @param {string} database
 * @param {(client: Client) => Promise<T>} work
 */
export async function withClient(database, work) {
  const client = new Client({ connectionString: database });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** @param {string} sql */
async function asAdmin(sql) {
  await withClient(postgres, (client) => client.query(sql));
}

/** @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, null>} child */
async function listening(child) {
  for await (const line of createInterface(child.stdout)) {
    const { msg, url } = JSON.parse(line);
    if (msg !== 'listening') continue;
    child.stdout.resume();
    return String(url);
  }
  throw new Error('The service exited before it listened. Build it first: npx tsc -b service');
}
