/**
 * How long a move takes, and for how long its tenant is closed meanwhile: `node bench/tenants/moves.mjs [--orders 1000,100000]
 * [--moves 5]`. Clients order from the tenant all the time.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createTenant } from '../../examples/dist/tenants/create-tenant.js';
import { moveTenant } from '../../examples/dist/tenants/move.js';
import { run } from '../shared/postgres.mjs';
import { progress } from '../shared/progress.mjs';
import { median, table } from '../shared/table.mjs';
import { startInstance, startPrimaries } from './primaries.mjs';

const { values: options } = parseArgs({
  options: { orders: { type: 'string', default: '1000,100000' }, moves: { type: 'string', default: '5' } },
});
const CLIENTS = 2;
const rows = [];
const primaries = await startPrimaries(2);
const instance = await startInstance(primaries.directoryUrl);
try {
  for (const orders of options.orders.split(',').map(Number)) {
    const tenant = `t${orders}`;
    await createTenant(primaries.directory, tenant, 'p1', { tea: 1_000_000_000 });
    await run(
      `postgres://postgres@127.0.0.1:${primaries.servers[0].port}/shop_${tenant}`,
      `INSERT INTO orders SELECT gen_random_uuid()::text, 'tea', 1 FROM generate_series(1, ${orders})`,
    );
    const turns = [];
    for (let number = 0; number < Number(options.moves); number++) {
      progress(`${orders} orders, move ${number + 1}`);
      turns.push(await move(tenant, number % 2 === 0 ? 'p2' : 'p1'));
    }
    const middle = (key) => median(turns.map((turn) => turn[key])).toFixed(0);
    rows.push([
      orders.toLocaleString('en'),
      ...['all', 'copy', 'closed', 'outage', 'refused'].map(middle),
      Math.max(...turns.map(({ outage }) => outage)).toFixed(0),
    ]);
  }
} finally {
  progress('');
  await instance.stop();
  await primaries.stop();
}
console.log(
  table(
    ['orders stored', 'move, ms', 'of it copying', 'of it closed', 'ms without an order', '503s', 'longest ms without'],
    rows,
  ),
);

async function move(tenant, to) {
  const stop = new AbortController();
  const acknowledged = [];
  let refused = 0;
  const client = async () => {
    while (!stop.signal.aborted) {
      const response = await fetch(`http://127.0.0.1:${instance.port}/orders`, {
        method: 'POST',
        headers: { 'x-tenant': tenant, 'content-type': 'application/json' },
        body: JSON.stringify({ id: randomUUID(), product: 'tea', quantity: 1 }),
      });
      await response.text();
      if (response.status === 201) acknowledged.push(performance.now());
      else if (response.status === 503) refused += 1;
      else throw new Error(`An order got ${response.status}`);
      await pause(5);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  const at = {};
  const start = performance.now();
  for await (const step of moveTenant(primaries.directory, tenant, to)) at[step] = performance.now();
  const end = performance.now();
  await pause(300);
  stop.abort();
  await Promise.all(clients);
  const gaps = acknowledged
    .toSorted((a, b) => a - b)
    .map((time, index, all) => [time, time - (all[index - 1] ?? time)])
    .filter(([time]) => time > at['lock out']);
  return {
    all: end - start,
    copy: at['lock out'] - at['copy'],
    closed: at['clean up'] - at['lock out'],
    outage: Math.max(...gaps.map(([, gap]) => gap)),
    refused,
  };
}
