import { setTimeout as pause } from 'node:timers/promises';
import { atOnce, bytesOf, Client } from '../kit/http.mjs';
import { stopwatch, until } from '../kit/program.mjs';
import { endWithSelects } from './galera-selects.mjs';

/** So long a fault lasts once everybody has noticed it. */
const LASTS_MS = 2000;
const KEYS = 50;
const PER_INSTANCE = 2;
const AGAIN_AFTER_MS = 10;

/** @typedef {import('./galera-cluster.mjs').GaleraCluster} GaleraCluster */
/** @typedef {import('../kit/crowd.mjs').Load} Load */
/** @typedef {Record<string, import('./faults.mjs').Fault<GaleraCluster>>} Faults */

/** These together show each kind of fault. @type {Faults} */
export const SHORT_FAULTS = {
  'each key sent to all three at once': async (_cluster, loads) => {
    const statuses = new Map();
    for (let key = 0; key < KEYS; key++) {
      for (const status of await sendToAll(loads)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    const counts = [...statuses].map(([status, count]) => `${count} x ${status}`);
    return `${KEYS} keys, ${PER_INSTANCE} requests to each: ${counts.join(', ')}`;
  },
  'transactions that end with a new SELECT': (cluster, _loads, refute) => endWithSelects(cluster, 200, refute),
  'kill -9 of db-3': async (cluster) => {
    const node = cluster.node(3);
    node.kill();
    await cluster.excluded(node);
    await pause(LASTS_MS);
    return `db-3 came back by ${await cluster.join(node)}`;
  },
  'db-3 cut off from the others': async (cluster, loads) => {
    const node = cluster.node(3);
    cluster.network.unplug(3);
    await Promise.all([cluster.refusing(node), cluster.excluded(node)]);
    await unready(loads, [3]);
    const refusal = await refusalOf(node);
    await pause(LASTS_MS);
    cluster.network.plug(3);
    return `db-3: ${refusal}; back after ${await back(cluster, [node])}`;
  },
};

/** @type {Faults} */
export const FAULTS = {
  ...SHORT_FAULTS,
  '10,000 transactions that end with a new SELECT': (cluster, _loads, refute) =>
    endWithSelects(cluster, 10_000, refute),
  '10,000 such transactions, while db-3 is cut off again and again': (cluster, _loads, refute) =>
    endWithSelects(cluster, 10_000, refute, async () => {
      await pause(LASTS_MS);
      cluster.network.unplug(3);
      await cluster.excluded(cluster.node(3));
      cluster.network.plug(3);
      await cluster.synced(cluster.node(3));
    }),
  'ordered stop of db-3': async (cluster) => {
    const node = cluster.node(3);
    await node.stop();
    await pause(LASTS_MS);
    return `db-3 came back by ${await cluster.join(node)}`;
  },
  'db-3 frozen until it is excluded, thawed': async (cluster) => {
    const node = cluster.node(3);
    node.freeze();
    await cluster.excluded(node);
    await pause(LASTS_MS);
    node.thaw();
    await cluster.refusing(node);
    return `back after ${await back(cluster, [node])}`;
  },
  'all three cut off from each other': async (cluster, loads) => {
    for (const { number } of cluster.nodes) cluster.network.unplug(number);
    await Promise.all(cluster.nodes.map((node) => cluster.refusing(node)));
    await unready(loads, [1, 2, 3]);
    const refusals = new Set(await Promise.all(cluster.nodes.map(refusalOf)));
    await pause(LASTS_MS);
    for (const { number } of cluster.nodes) cluster.network.plug(number);
    return `each node: ${[...refusals].join('; ')}; back after ${await back(cluster, cluster.nodes)}`;
  },
  'each node stopped and started in turn': async (cluster) => {
    const came = [];
    for (const node of cluster.nodes) {
      await node.stop();
      came.push(`${node.name} by ${await cluster.join(node)}`);
    }
    return `they came back: ${came.join(', ')}`;
  },
  'db-3 lost its disk': async (cluster) => {
    const node = cluster.node(3);
    node.kill();
    await node.exited();
    node.forget();
    return `db-3 came back by ${await cluster.join(node)}`;
  },
  'kill -9 of all nodes at once': async (cluster) => {
    for (const node of cluster.nodes) node.kill();
    await Promise.all(cluster.nodes.map((node) => node.exited()));
    const positions = [];
    for (const node of cluster.nodes) positions.push(Number((await node.recovered()).split(':')[1]));
    const first = cluster.node(positions.indexOf(Math.max(...positions)) + 1);
    first.declareSafe();
    return `recovered: ${positions.join(', ')}; ${await restart(cluster, first)}`;
  },
  'ordered stop of all nodes': async (cluster) => {
    for (const node of cluster.nodes) await node.stop();
    const safe = cluster.nodes.filter((node) => node.isSafeToBootstrap);
    const [first] = safe;
    if (!first || safe.length > 1) throw new Error(`${safe.length} nodes say that they stopped last`);
    return `safe to bootstrap: ${first.name}; ${await restart(cluster, first)}`;
  },
};

/** What they respond first; then the request is repeated until it is done. @param {readonly Load[]} loads */
async function sendToAll(loads) {
  const [{ ledger } = missing()] = loads;
  const work = ledger.newWork();
  work.key ??= `key-${work.mark}`;
  const urls = loads.map(({ url }) => url);
  const responses = await atOnce(urls, PER_INSTANCE * urls.length, bytesOf(work));
  // A repetition may arrive before the response that it repeats.
  const [first, repeated] = [responses.filter((response) => !isRepeated(response)), responses.filter(isRepeated)];
  const again = [...first, ...repeated].map((response) => ledger.note(work, response) === 'again');
  for (const [index, repeats] of again.entries()) {
    const client = new Client(() => urls[index % urls.length] ?? missing());
    for (let said = repeats; said; said = ledger.note(work, await client.send(bytesOf(work))) === 'again') {
      await pause(AGAIN_AFTER_MS);
    }
    client.close();
  }
  return responses.map((response) =>
    response ? `${response.status}${isRepeated(response) ? ' (repeated)' : ''}` : 'no response',
  );
}

/** @param {import('@ambit/test-kit').RawResponse | undefined} response */
function isRepeated(response) {
  return response?.headers['idempotency-replayed'] === 'true';
}

/** @returns {never} */
function missing() {
  throw new Error('There is no instance');
}

/** @param {GaleraCluster} cluster @param {import('./galera-node.mjs').GaleraNode} first */
async function restart(cluster, first) {
  await first.bootstrap();
  await cluster.synced(first);
  const came = [];
  for (const node of cluster.nodes.filter((other) => other !== first)) {
    came.push(`${node.name} by ${await cluster.join(node)}`);
  }
  return `${first.name} began, ${came.join(', ')}`;
}

/** @param {GaleraCluster} cluster @param {readonly import('./galera-node.mjs').GaleraNode[]} nodes */
async function back(cluster, nodes) {
  const since = stopwatch();
  for (const node of nodes) await cluster.synced(node);
  return `${since()} s`;
}

/** What a node that is not part of the majority says to a write. @param {import('./galera-node.mjs').GaleraNode} node */
async function refusalOf({ name, query }) {
  try {
    await query('UPDATE stock SET level = level WHERE level < 0');
  } catch (error) {
    return `${/** @type {NodeJS.ErrnoException} */ (error).errno}`;
  }
  throw new Error(`${name} took a write without a majority`);
}

/** The instances on these nodes tell the load balancer so. @param {readonly Load[]} loads @param {readonly number[]} numbers */
async function unready(loads, numbers) {
  for (const number of numbers) {
    await until(`the instance on db-${number} not to be ready`, async () => {
      const response = await fetch(`${loads[number - 1]?.url}/health/ready`);
      await response.text();
      return response.status === 503;
    });
  }
}
