// Events of an outbox in a real Restate, whose server npm brings: every committed order is shipped once, although each response is lost
// once, the relay is interrupted, and one transaction is rolled back.
//   node integrations/prepare.mjs && node tools/on-node.mjs 24 integrations/restate.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Container } from '@ambit/container';
import { createOutbox } from '@ambit/outbox';
import { runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { installed } from '../tools/binaries.mjs';
import { toRestate } from './test/outbox/restate.ts';

const ORDERS = 50;
const SERVER = '@restatedev/restate-server-linux-x64';
const binary = installed(SERVER, '1', `${SERVER}/bin/restate-server`);
const sdk = installed('@restatedev/restate-sdk', '1', '@restatedev/restate-sdk/package.json');
/** @type {{ main: string }} */
const { main } = (await import(sdk, { with: { type: 'json' } })).default;
process.env['RESTATE_LOGGING'] ??= 'ERROR';
const restate = await import(join(dirname(sdk), main));

const folder = mkdtempSync(join(tmpdir(), 'ambit-restate-'));
const [ingress, admin, fabric, handlers] = await freePorts(4);
/** @type {number[]} */
const shipped = [];
const ship = async (/** @type {unknown} */ _context, /** @type {{ n: number }} */ { n }) => void shipped.push(n);
await restate
  .endpoint()
  .bind(restate.service({ name: 'shop', handlers: { ship } }))
  .listen(handlers);

const server = spawn(binary, ['--no-logo', '--listen-mode', 'tcp'], {
  cwd: folder,
  stdio: 'ignore',
  env: {
    ...process.env,
    RESTATE_BASE_DIR: folder,
    RESTATE_BIND_ADDRESS: `127.0.0.1:${fabric}`,
    RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${fabric}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_DISABLE_TELEMETRY: 'true',
  },
});
try {
  const deployment = JSON.stringify({ uri: `http://127.0.0.1:${handlers}` });
  const headers = { 'content-type': 'application/json' };
  await until(async () => {
    const register = fetch(`http://127.0.0.1:${admin}/deployments`, { method: 'POST', headers, body: deployment });
    return register.then(({ ok }) => ok).catch(() => false);
  });

  const pool = createSqlitePool({ path: join(folder, 'shop.db') });
  const outbox = createOutbox(pool, { dialect: 'sqlite' });
  await outbox.createTable();
  const app = new Container();
  app.register('IDatabasePool', () => pool);
  const place = (/** @type {number} */ n, fails = false) =>
    runInTransaction(app, async (scope) => {
      await outbox.publish(scope.resolve('IConnection'), { topic: 'order.created', payload: { n } });
      if (fails) throw new Error('changed my mind');
    });
  for (let n = 1; n <= ORDERS; n += 1) await place(n);
  await assert.rejects(place(0, true));

  const deliver = toRestate(`http://127.0.0.1:${ingress}`, () => 'shop/ship');
  let delivered = 0;
  /** @type {import('@ambit/outbox').Deliver} */
  const losing = async (event, signal) => {
    await deliver(event, signal);
    if (event.attempt === 1) throw new Error('The response is lost');
    delivered += 1;
  };
  const options = { pollMs: 10, backoffMs: 10 };
  const interrupted = outbox.relay(losing, options);
  interrupted.start();
  await until(async () => shipped.length > 5);
  await interrupted.dispose();
  const relay = outbox.relay(losing, options);
  relay.start();
  await until(async () => delivered >= ORDERS);
  await relay.dispose();
  await pause(500);
  const once = Array.from({ length: ORDERS }, (_, index) => index + 1);
  assert.deepEqual(
    shipped.toSorted((one, other) => one - other),
    once,
  );
  await pool.close();
  console.log(`${ORDERS} orders, each delivered at least twice: ${shipped.length} shipped`);
} finally {
  server.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

/** @param {() => Promise<boolean>} condition */
async function until(condition) {
  for (const start = Date.now(); Date.now() - start < 60_000; await pause(50)) if (await condition()) return;
  throw new Error('It took longer than a minute');
}

/** @param {number} count @returns {Promise<number[]>} */
async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((one) => new Promise((listening) => one.once('listening', listening))));
  const ports = servers.map((one) => /** @type {import('node:net').AddressInfo} */ (one.address()).port);
  await Promise.all(servers.map((one) => new Promise((closed) => one.close(closed))));
  return ports;
}
