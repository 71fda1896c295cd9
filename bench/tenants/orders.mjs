/**
 * Orders of tenants on 1, 2 and 4 PostgreSQL primaries: `node bench/tenants/orders.mjs [--primaries 1,2,4] [--tenants 8]
 * [--clients 8] [--seconds 10] [--rounds 3]`. All run on this machine, so the number of orders in a second says what its cores
 * bear; CPU time for each order says what more machines would.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { createTenant } from '../../examples/dist/tenants/create-tenant.js';
import { openLoad, percentile } from '../shared/load.mjs';
import { run } from '../shared/postgres.mjs';
import { progress } from '../shared/progress.mjs';
import { median, table } from '../shared/table.mjs';
import { cpuOf, cpuOfServer, startInstance, startPrimaries } from './primaries.mjs';

const { values: options } = parseArgs({
  options: {
    primaries: { type: 'string', default: '1,2,4' },
    tenants: { type: 'string', default: '8' },
    clients: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
  },
});
const [tenants, connections, seconds, rounds] = [options.tenants, options.clients, options.seconds, options.rounds].map(
  Number,
);
const PRODUCTS = Array.from({ length: 1000 }, (_, number) => `product-${number}`);
const STOCK = Object.fromEntries(PRODUCTS.map((name) => [name, 1_000_000]));

const setups = [];
const rows = [];
try {
  for (const count of options.primaries.split(',').map(Number)) {
    progress(`${count} primaries, ${tenants} tenants`);
    const primaries = await startPrimaries(count);
    for (let number = 0; number < tenants; number++)
      await createTenant(primaries.directory, `t${number}`, `p${1 + (number % count)}`, STOCK);
    const instance = await startInstance(primaries.directoryUrl);
    setups.push({ count, primaries, instance, turns: [] });
    await load(instance.port, 2000);
  }
  // In turn, so that whatever else the machine does concerns all of them.
  for (let round = 1; round <= rounds; round++)
    for (const { count, primaries, instance, turns } of setups) {
      progress(`round ${round} of ${rounds}: ${count} primaries`);
      const used = () => [cpuOf(instance.pid), ...primaries.servers.map(cpuOfServer)];
      const before = used();
      const { latencies, rate } = await load(instance.port, 1000 * seconds);
      const [node, ...servers] = used().map((ms, index) => (ms - before[index]) / latencies.length);
      turns.push({ rate, node, servers, p50: percentile(latencies, 0.5) });
    }
  for (const { count, primaries, turns } of setups) {
    const sessions = await Promise.all(
      primaries.servers.map(({ url }) =>
        run(url, "SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'shop'"),
      ),
    );
    const rate = median(turns.map((turn) => turn.rate));
    const node = median(turns.map((turn) => turn.node));
    const database = median(turns.map(({ servers }) => servers.reduce((sum, ms) => sum + ms, 0)));
    rows.push([
      String(count),
      rate.toFixed(0),
      (rate / count).toFixed(0),
      node.toFixed(2),
      database.toFixed(2),
      (1000 / node).toFixed(0),
      (1000 / database).toFixed(0),
      median(turns.map(({ p50 }) => p50)).toFixed(1),
      sessions.map(([{ n }]) => n).join(', '),
    ]);
  }
} finally {
  progress('');
  for (const { instance, primaries } of setups) {
    await instance.stop();
    await primaries.stop();
  }
}
console.log(
  table(
    [
      'primaries',
      'orders/s',
      'per primary',
      'ms of Node per order',
      'ms of PostgreSQL',
      'orders/s per Node core',
      'per PostgreSQL core',
      'p50 ms',
      'connections of each primary',
    ],
    rows,
  ),
);

/** Each client orders from one tenant after the other. */
async function load(port, ms) {
  let next = 0;
  const requestOf = () => ({
    method: 'POST',
    path: '/orders',
    headers: { 'x-tenant': `t${next++ % tenants}` },
    body: JSON.stringify({ id: randomUUID(), product: PRODUCTS[next % PRODUCTS.length], quantity: 1 }),
  });
  const clients = await openLoad(port, { connections, requestOf });
  const start = performance.now();
  const latencies = await clients.sendFor(ms);
  const rate = latencies.length / ((performance.now() - start) / 1000);
  clients.close();
  return { latencies: latencies.toSorted((a, b) => a - b), rate };
}
