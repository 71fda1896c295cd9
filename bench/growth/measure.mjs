/**
 * The service on databases of different sizes, one after the other in each round: `node bench/growth/measure.mjs
 * [--sizes 10000,100000,1000000,10000000] [--host fastify,express] [--work order,order-hot,...] [--rounds 1] [--seconds 1]
 * [--connections 4] [--disk] [--file growth.tsv]`. It appends a line for each turn to the file, which report.mjs reads. The databases
 * are made by fill.mjs, in a PostgreSQL whose shared_preload_libraries has pg_stat_statements.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openLoad, percentile } from '../shared/load.mjs';
import { pick } from '../shared/pick.mjs';
import { progress } from '../shared/progress.mjs';
import { COLUMNS, DEFAULT_FILE } from './measures.mjs';
import { SIZES } from './sizes.mjs';
import { HOSTS, startTarget } from './target.mjs';
import { works } from './works.mjs';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: SIZES.join(',') },
    host: { type: 'string' },
    work: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '4' },
    disk: { type: 'boolean', default: false },
    file: { type: 'string', default: DEFAULT_FILE },
  },
});
const sizes = options.sizes.split(',').map(Number);
const connections = Number(options.connections);
const ms = 1000 * Number(options.seconds);
/** What comes before a turn and does not count. */
const WAKING_MS = 250;

const targets = [];
try {
  if (!existsSync(options.file)) appendFileSync(options.file, `${COLUMNS.join('\t')}\n`);
  for (const host of pick(options.host, Object.keys(HOSTS)))
    for (const orders of sizes) targets.push(await startTarget(host, orders, { onDisk: options.disk }));
  const inTurn = async (round, measure) => {
    const first = round % targets.length;
    for (const work of pick(options.work, Object.keys(works)))
      for (const target of [...targets.slice(first), ...targets.slice(0, first)]) {
        progress(`${works[work].title}, ${target.host}, ${target.orders.toLocaleString('en')} orders`);
        await measure(target, work);
      }
  };
  // V8 compiles what is requested first: that does not count either.
  await inTurn(0, ({ port, ...target }, work) => load(port, works[work].requests(target), ms / 2));
  for (let round = 0; round < Number(options.rounds); round++) {
    const at = Date.now();
    await inTurn(round, async (target, work) => {
      const { host, orders } = target;
      const measures = { at, work, host, orders, connections, ...(await turn(target, work)) };
      appendFileSync(options.file, `${COLUMNS.map((name) => measures[name]).join('\t')}\n`);
    });
  }
} finally {
  progress('');
  for (const { stop } of targets) await stop();
}

/** Milliseconds of each request, the shortest first, and how many there were in a second. */
async function load(port, { next }, duration) {
  const clients = await openLoad(port, { connections, requestOf: next });
  const start = performance.now();
  const latencies = await clients.sendFor(duration);
  const rate = latencies.length / ((performance.now() - start) / 1000);
  clients.close();
  return { latencies: latencies.toSorted((a, b) => a - b), rate };
}

/** Sends these requests, one after the other. */
async function sendOnce(port, requests) {
  const left = [...requests];
  const client = await openLoad(port, { connections: 1, requestOf: () => left.shift() });
  await client.send(left.length);
  client.close();
}

async function turn(target, name) {
  const work = works[name].requests(target);
  if (work.first) await sendOnce(target.port, work.first);
  await load(target.port, work, WAKING_MS);
  const before = await target.used();
  const { latencies, rate } = await load(target.port, work, ms);
  const after = await target.used();
  const count = latencies.length;
  const perRequest = Object.fromEntries(Object.keys(after).map((each) => [each, (after[each] - before[each]) / count]));
  const [p50, p95, p99] = [0.5, 0.95, 0.99].map((part) => percentile(latencies, part));
  return { count, rate, p50, p95, p99, ...perRequest };
}
