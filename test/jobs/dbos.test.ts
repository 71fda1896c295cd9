import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MOMENTS as STATEMENT_MOMENTS, TARGETS } from './all-or-nothing/faults.mjs';
import { type Placing, Servers } from './all-or-nothing/servers.mjs';
import { MOMENTS } from './dbos/names.mjs';
import { postgresUrl } from '../libraries/databases.js';

const name = `ambit_dbos_${process.pid}`;
const url = new URL(postgresUrl);
url.pathname = `/${name}`;

let admin: Client;
/** Of the orders and the workflows. */
let database: Client;

beforeAll(async () => {
  admin = new Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  database = new Client({ connectionString: url.href });
  await database.connect();
  for (const table of ['orders', 'reserved', 'shipped'])
    await database.query(`CREATE TABLE ${table} (id TEXT PRIMARY KEY)`);
  // DBOS creates its tables.
  const worker = await startWorker();
  await kill(worker);
});
beforeEach(async () => {
  await database.query('TRUNCATE orders, reserved, shipped');
  await database.query('DELETE FROM dbos.workflow_status');
});
afterAll(async () => {
  await database.end();
  await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  await admin.end();
});

type Worker = ReturnType<typeof fork>;

function forkWorker(dies?: string): Worker {
  return fork(new URL('dbos/worker.mjs', import.meta.url), [JSON.stringify({ url: url.href, dies })], {
    stdio: 'ignore',
  });
}

async function startWorker(): Promise<Worker> {
  const worker = forkWorker();
  await once(worker, 'message');
  return worker;
}

async function kill(worker: Worker): Promise<void> {
  const exited = once(worker, 'exit');
  worker.kill('SIGKILL');
  await exited;
}

const idsIn = async (sql: string): Promise<string[]> =>
  (await database.query<{ id: string }>(`${sql} ORDER BY 1`)).rows.map(({ id }) => id);
const orders = () => idsIn('SELECT id FROM orders');
const workflows = () => idsIn('SELECT workflow_uuid AS id FROM dbos.workflow_status');

/** Waits until PostgreSQL has completed or rolled back what a killed program has sent. */
async function quiet(): Promise<void> {
  const busy = `SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND state <> 'idle' AND pid <> pg_backend_pid()`;
  while ((await database.query(busy, [name])).rowCount !== 0);
}

/** Every order that is committed has been shipped by a workflow, and nothing else has. */
async function expectWorkOfOrders(): Promise<void> {
  const committed = await orders();
  const done = () => idsIn("SELECT workflow_uuid AS id FROM dbos.workflow_status WHERE status = 'SUCCESS'");
  await expect.poll(done, { timeout: 30_000 }).toEqual(committed);
  expect(await workflows()).toEqual(committed);
  expect(await idsIn('SELECT id FROM reserved')).toEqual(committed);
  expect(await idsIn('SELECT id FROM shipped')).toEqual(committed);
}

/** An order for each fault, at each statement: BEGIN and COMMIT are two of them. */
async function placeAll(servers: Servers): Promise<Map<string, string>> {
  const outcomes = new Map<string, string>();
  const place = async (placing: Placing): Promise<string[]> => {
    const { outcome, statements } = await servers.place(placing);
    outcomes.set(placing.order, outcome);
    await quiet();
    return statements;
  };
  const statements = await place({ order: 'undisturbed' });
  await place({ order: 'fails', fails: true });
  for (const target of TARGETS) {
    for (const moment of STATEMENT_MOMENTS) {
      for (let at = 1; at <= statements.length; at += 1) {
        const order = `${target} ${moment} ${at} ${statements[at - 1]}`;
        await place({ order, fault: { at, target, moment } });
      }
    }
  }
  return outcomes;
}

describe('a workflow of DBOS that is enqueued with its order', () => {
  it('runs where the order is committed, and only there, wherever the shop or its backend is killed', async () => {
    const servers = new Servers({ url: url.href, queueOutside: false }, new URL('dbos/shop.mjs', import.meta.url));
    const outcomes = await placeAll(servers);
    await servers.stop();
    const committed = await orders();
    // Some are killed before COMMIT, and some after it.
    expect(committed.length).toBeGreaterThan(2);
    expect(committed.length).toBeLessThan(outcomes.size);
    for (const [order, outcome] of outcomes) {
      if (outcome === 'committed') expect(committed).toContain(order);
      if (outcome === 'rolled back') expect(committed).not.toContain(order);
    }
    expect(await workflows()).toEqual(committed);
    const worker = await startWorker();
    await expectWorkOfOrders();
    await kill(worker);
  }, 300_000);

  it('runs to its end once, wherever the worker is killed', async () => {
    const servers = new Servers({ url: url.href, queueOutside: false }, new URL('dbos/shop.mjs', import.meta.url));
    for (const moment of MOMENTS) {
      await servers.place({ order: moment });
      await servers.place({ order: `not ${moment}`, fails: true });
      const worker = forkWorker(moment);
      const [, signal] = (await once(worker, 'exit')) as [number | null, string | null];
      expect([moment, signal]).toEqual([moment, 'SIGKILL']);
    }
    await servers.stop();
    const worker = await startWorker();
    await expectWorkOfOrders();
    expect(await orders()).toEqual(MOMENTS.toSorted());
    await kill(worker);
  }, 300_000);

  it('runs for an order that is rolled back where it is enqueued on a connection of its own', async () => {
    const servers = new Servers({ url: url.href, queueOutside: true }, new URL('dbos/shop.mjs', import.meta.url));
    await servers.place({ order: 'fails', fails: true });
    await servers.stop();
    expect([await orders(), await workflows()]).toEqual([[], ['fails']]);
  }, 60_000);
});
