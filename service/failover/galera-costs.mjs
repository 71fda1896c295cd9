/**
 * What several nodes cost: orders on one node and on three, each with an instance of its own, and reads of what another instance has
 * just stored, with and without `wsrep_sync_wait`: `node service/failover/galera-costs.mjs [--seconds 10] [--write]`. It exits with
 * 1 when the stock is not what was acknowledged, or when a read with `wsrep_sync_wait` misses a write.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { requestText } from '@ambit/host-contract';
import { Client } from '../chaos/support/client.mjs';
import { between } from '../chaos/support/random.mjs';
import { report, say, table } from '../chaos/support/report.mjs';
import { startServer, stopServer } from '../chaos/support/server.mjs';
import { setStock } from '../chaos/support/stored.mjs';
import { GaleraCluster, installGalera } from './galera-cluster.mjs';

const INSTANCES = 3;
const CLIENTS_EACH = 8;
const COLD_PRODUCTS = 1000;
const LEVEL = 100_000_000;
const WARM_UP_MS = 2000;
const AGAIN_AFTER_MS = 20;
const USER = { name: 'Ada', email: 'ada@example.org' };

/** @typedef {import('../chaos/support/server.mjs').Server} Server */

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '10' }, write: { type: 'boolean', default: false } },
});
const ms = Number(values.seconds) * 1000;
if (!(ms > 0)) throw new Error('--seconds must be a number');

installGalera();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
/** @type {string[]} */
const violations = [];
/** @type {(string | number)[][]} */
const orders = [];
/** @type {(string | number)[][]} */
const reads = [];
for (const [nodes, syncWait] of /** @type {const} */ ([
  [1, 0],
  [3, 0],
  [3, 1],
])) {
  await onCluster(nodes, syncWait);
}
const text = [
  table(['nodes', '`wsrep_sync_wait`', 'products', 'orders/s', 'conflicts/s', '503/s', 'p50 ms', 'p99 ms'], orders),
  table(['nodes', '`wsrep_sync_wait`', 'users read elsewhere', 'not found', 'p50 ms', 'p99 ms'], reads),
].join('\n\n');
report('galera costs', text, violations, values.write, 'docs/service/galera.md');

/** @param {number} nodes @param {0 | 1} syncWait */
async function onCluster(nodes, syncWait) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-galera-'));
  // MariaDB has a folder in it, and runs as another user.
  chmodSync(folder, 0o755);
  /** @type {Server[]} */
  let servers = [];
  /** @type {GaleraCluster | undefined} */
  let cluster;
  try {
    const opened = (cluster = await GaleraCluster.open(folder, { nodes, syncWait }));
    servers = await Promise.all(
      Array.from({ length: INSTANCES }, (_, index) =>
        startServer(index === 1 ? 'fastify' : 'express', { DATABASE_URL: opened.node((index % nodes) + 1).url }),
      ),
    );
    for (const [name, count] of /** @type {const} */ ([
      [`${COLD_PRODUCTS} products`, COLD_PRODUCTS],
      ['one product', 1],
    ])) {
      const row = [nodes, syncWait, name, ...(await order(opened, servers, count))];
      say(row.join(' | '));
      orders.push(row);
    }
    const row = [nodes, syncWait, ...(await readElsewhere(servers, nodes === 1 || syncWait === 1))];
    say(row.join(' | '));
    reads.push(row);
  } finally {
    await Promise.all(servers.map(stopServer));
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {GaleraCluster} cluster @param {readonly Server[]} servers @param {number} products */
async function order(cluster, servers, products) {
  await setStock(cluster, new Map(Array.from({ length: products }, (_, index) => [`p${index}`, LEVEL])));
  /** @type {{ acknowledged: number, unavailable: number, took: number[] }} */
  const seen = { acknowledged: 0, unavailable: 0, took: [] };
  let measures = false;
  let ordered = 0;
  const stop = new AbortController();
  const over = stop.signal;
  const clients = servers.flatMap(({ url }, index) =>
    Array.from({ length: CLIENTS_EACH }, async (_, number) => {
      const client = new Client(() => url);
      for (let made = 0; !over.aborted; made++) {
        const begin = performance.now();
        const body = { items: [{ productId: `p${between(0, products - 1)}`, quantity: 1 }] };
        const headers = { 'idempotency-key': `${products}-${index}-${number}-${made}` };
        const bytes = requestText({ method: 'POST', path: '/api/orders', body, headers });
        for (;;) {
          const response = await client.send(bytes);
          if (response?.status === 201) break;
          if (response?.status !== 503 && response?.status !== 409) {
            violations.push(`an order got ${response?.status}: ${response?.text}`);
          }
          if (measures) seen.unavailable++;
          await pause(between(1, AGAIN_AFTER_MS));
        }
        ordered++;
        if (!measures) continue;
        seen.acknowledged++;
        seen.took.push(performance.now() - begin);
      }
      client.close();
    }),
  );
  await pause(WARM_UP_MS);
  const [conflicts, start] = [await cluster.conflicts(), performance.now()];
  measures = true;
  await pause(ms);
  measures = false;
  const s = (performance.now() - start) / 1000;
  const met = (await cluster.conflicts()) - conflicts;
  stop.abort();
  await Promise.all(clients);
  const [row] = await cluster.query('SELECT SUM(level) AS left_over FROM stock');
  const taken = products * LEVEL - Number(row?.['left_over']);
  if (taken !== ordered) violations.push(`${ordered} orders were acknowledged, and ${taken} pieces were taken`);
  const perSecond = [seen.acknowledged, met, seen.unavailable].map((count) => Math.round(count / s));
  return [...perSecond, percentile(seen.took, 0.5), percentile(seen.took, 0.99)];
}

/** Each client creates users on one instance and reads them on the next one, at once. @param {readonly Server[]} servers @param {boolean} mustFind */
async function readElsewhere(servers, mustFind) {
  let [found, notFound] = [0, 0];
  /** @type {number[]} */
  const took = [];
  const deadline = performance.now() + ms;
  await Promise.all(
    servers.flatMap(({ url }, index) =>
      Array.from({ length: CLIENTS_EACH }, async () => {
        const writer = new Client(() => url);
        const reader = new Client(() => servers[(index + 1) % servers.length]?.url ?? '');
        while (performance.now() < deadline) {
          const created = await writer.send(requestText({ method: 'POST', path: '/api/users', body: USER }));
          if (created?.status !== 201) continue;
          const path = `/api/users/${JSON.parse(created.text).id}`;
          const begin = performance.now();
          const response = await reader.send(requestText({ method: 'GET', path }));
          took.push(performance.now() - begin);
          if (response?.status === 200) found++;
          else if (response?.status === 404) notFound++;
          else violations.push(`a read got ${response?.status}: ${response?.text}`);
        }
        writer.close();
        reader.close();
      }),
    ),
  );
  if (mustFind && notFound > 0) violations.push(`${notFound} users were not found although reads wait`);
  return [found + notFound, notFound, percentile(took, 0.5), percentile(took, 0.99)];
}

/** @param {number[]} values_ @param {number} share */
function percentile(values_, share) {
  const sorted = values_.toSorted((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}
