/**
 * Many clients send the same request at once: `node service/chaos/concurrency.mjs [--seconds 60] [--host both] [--database all] [--write]`.
 * On PostgreSQL and MariaDB two instances share one database; on SQLite there is one. The seconds, divided between the hosts, are
 * for orders of overlapping products in random sequences.
 */
import { atOnce, Client } from './support/client.mjs';
import { requestText } from '@ambit/host-contract';
import { withDatabase } from './support/database.mjs';
import { readOptions } from './support/options.mjs';
import { between, shuffled } from './support/random.mjs';
import { report, say, table } from './support/report.mjs';
import { startServer, stopServer } from './support/server.mjs';
import { checkStock, Findings, readOrders, setStock } from './support/stored.mjs';

/** @typedef {import('@ambit/host-contract').RawResponse} RawResponse */
/** @typedef {import('./support/database.mjs').Database} Database */

const STOCK = 10;
const BUYERS = 500;
const SAME_KEY = 20;
const KEYS = 20;
const OVERLAPPING = 24;
/** The last two products run out within the run. */
const LEVELS = new Map(Array.from({ length: 8 }, (_, i) => [`p${i}`, i < 6 ? 1_000_000 : 500]));

const options = readOptions({ seconds: 60 });
const msEach = (options.seconds * 1000) / options.hosts.length;

/** @type {string[][]} */
const rows = [];
/** @type {string[]} */
const violations = [];
for (const host of options.hosts) {
  for (const kind of options.databases) {
    const title = `${host}, ${kind}`;
    say(title);
    await withDatabase(kind, (database) => runAll(title, host, database));
  }
}
report(
  options.sectionOf('concurrency'),
  table(['', 'responses', 'stored', 'violations'], rows),
  violations,
  options.write,
);

/**
 * @param {string} title
 * @param {import('./support/server.mjs').HostVariant} host
 * @param {Database} database
 */
async function runAll(title, host, database) {
  const servers = [await startServer(host, database.env)];
  if (!database.isEmbedded) servers.push(await startServer(host, database.env));
  const urls = servers.map(({ url }) => url);
  await note(`${title}: ${BUYERS} orders at once, ${STOCK} in stock`, () => lastOnes(database, urls));
  await note(`${title}: ${KEYS} keys, each from ${SAME_KEY} clients at once`, () => oneKey(database, urls));
  if (!database.isEmbedded) {
    await note(`${title}: overlapping orders for ${msEach / 1000} s`, () => overlapping(database, urls));
  }
  for (const { code } of await Promise.all(servers.map((server) => stopServer(server)))) {
    if (code !== 0) violations.push(`${title}: exit code ${code}`);
  }
  const deadlock = servers.flatMap(({ errors }) => errors).find((line) => /deadlock/i.test(line));
  if (deadlock) violations.push(`${title}: ${deadlock}`);
}

/**
 * @param {string} title
 * @param {() => Promise<{ responses: (RawResponse | undefined)[], stored: string, findings: Findings }>} run
 */
async function note(title, run) {
  const { responses, stored, findings } = await run();
  const lost = responses.filter((response) => !response).length;
  if (lost > 0) findings.add('responses', `${lost} were lost`);
  for (const response of responses) {
    if (response && response.status >= 500) findings.add('responses', `${response.status}: ${response.text}`);
  }
  rows.push([title, countsOf(responses), stored, String(findings.total)]);
  violations.push(...findings.reported.map((line) => `${title}: ${line}`));
}

/** @param {(RawResponse | undefined)[]} responses */
function countsOf(responses) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const response of responses) {
    const name = response ? `${response.status}${response.headers['idempotency-replayed'] ? ' replayed' : ''}` : 'lost';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return Object.entries(counts)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${count} x ${name}`)
    .join(', ');
}

/**
 * @param {Database} database
 * @param {string[]} urls
 */
async function lastOnes(database, urls) {
  const findings = new Findings();
  const start = new Map([['rare', STOCK]]);
  await setStock(database, start);
  const order = requestText({
    method: 'POST',
    path: '/api/orders',
    body: { items: [{ productId: 'rare', quantity: 1 }] },
  });
  const responses = await untilDone(urls, BUYERS, order);
  const orders = await readOrders(database, findings);
  await checkStock(database, start, findings);
  const sold = responses.filter((response) => response?.status === 201).length;
  const refused = responses.filter((response) => response?.status === 409).length;
  if (sold !== STOCK || refused !== BUYERS - STOCK) findings.add('responses', countsOf(responses));
  if (orders.length !== STOCK) findings.add('orders', `${orders.length} stored`);
  return { responses, stored: `${orders.length} orders`, findings };
}

/**
 * @param {Database} database
 * @param {string[]} urls
 */
async function oneKey(database, urls) {
  const findings = new Findings();
  const before = await countOf(database);
  /** @type {(RawResponse | undefined)[]} */
  const all = [];
  for (let round = 0; round < KEYS; round++) {
    const isOrder = round % 2 === 0;
    const body = isOrder ? { items: [{ productId: 'free', quantity: 1 }] } : { name: 'Ada', email: 'ada@example.org' };
    const headers = { 'Idempotency-Key': `round-${round}` };
    const request = requestText({ method: 'POST', path: isOrder ? '/api/orders' : '/api/users', body, headers });
    const responses = await atOnce(urls, SAME_KEY, request);
    const [later] = await atOnce(urls, 1, request);
    const stored = new Set([...responses, later].filter((one) => one?.status === 201).map((one) => one?.text));
    if (stored.size !== 1 || later?.status !== 201) findings.add('responses', countsOf([...responses, later]));
    const odd = responses.find((one) => one?.status !== 201 && !(one?.status === 409 && one.headers['retry-after']));
    if (odd) findings.add('responses', `${odd.status}: ${odd.text}`);
    all.push(...responses, later);
  }
  const made = (await countOf(database)) - before;
  if (made !== KEYS) findings.add('orders', `${KEYS} keys made ${made} orders and users`);
  return { responses: all, stored: `${made} orders and users`, findings };
}

/**
 * On a machine that is too busy for so many at once, some clients get 503: they send the request again.
 * @param {string[]} urls
 * @param {number} clients
 * @param {string} request
 * @param {number} [tries]
 * @returns {Promise<(RawResponse | undefined)[]>}
 */
async function untilDone(urls, clients, request, tries = 10) {
  const responses = await atOnce(urls, clients, request);
  const settled = responses.filter((response) => response?.status !== 503);
  const again = responses.length - settled.length;
  if (again === 0 || tries === 1) return responses;
  say(`  ${again} of ${clients} got 503, and try again`);
  return [...settled, ...(await untilDone(urls, again, request, tries - 1))];
}

/** @param {Database} database */
async function countOf(database) {
  const [row] = await database.query(
    'SELECT (SELECT count(*) FROM orders) AS orders, (SELECT count(*) FROM users) AS users',
  );
  return Number(row?.['orders']) + Number(row?.['users']);
}

/**
 * @param {Database} database
 * @param {string[]} urls
 */
async function overlapping(database, urls) {
  const findings = new Findings();
  for (const name of ['order_items', 'orders', 'reservations']) await database.query(`DELETE FROM ${name}`);
  await setStock(database, LEVELS);
  const until = performance.now() + msEach;
  /** @type {(RawResponse | undefined)[]} */
  const responses = [];
  const products = [...LEVELS.keys()];
  await Promise.all(
    Array.from({ length: OVERLAPPING }, async (_, i) => {
      const client = new Client(() => urls[i % urls.length] ?? '');
      while (performance.now() < until) {
        const chosen = shuffled(products).slice(0, between(2, products.length));
        const items = chosen.map((productId) => ({ productId, quantity: between(1, 3) }));
        responses.push(await client.send(requestText({ method: 'POST', path: '/api/orders', body: { items } })));
      }
      client.close();
    }),
  );
  const orders = await readOrders(database, findings);
  await checkStock(database, LEVELS, findings);
  const sold = responses.filter((response) => response?.status === 201).length;
  if (sold !== orders.length) findings.add('orders', `${orders.length} stored, ${sold} acknowledged`);
  return { responses, stored: `${orders.length} orders`, findings };
}
