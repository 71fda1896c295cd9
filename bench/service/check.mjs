import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { createDatabase } from './database.mjs';
import { productsOf, SCARCE, userId, works } from './works.mjs';

const CHILD = new URL('../shared/child.mjs', import.meta.url);
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;

const [free] = productsOf('free');
const [tracked] = productsOf('tracked');
const post = (path, body) => ({ method: 'POST', path, body: JSON.stringify(body) });
const order = (...items) =>
  post('/api/orders', { items: items.map(([productId, quantity]) => ({ productId, quantity })) });

/** What is measured, what is refused, and what must leave nothing behind. */
const REQUESTS = [
  ...Object.values(works).flatMap(({ requestOf }) => [requestOf(0), requestOf(15)]),
  order([tracked, 2], [free, 7], [tracked, 3]),
  post('/api/orders', { items: [{ productId: free, quantity: 1, colour: 'red' }], id: 'mine' }),
  post('/api/users', { name: 'Zoë', email: 'zoe@example.com', id: 'mine' }),
  order([tracked, 1], [free, 1], [SCARCE, 4]),
  order(),
  order(['', 1]),
  order(['n\0l', 1]),
  order([free, '1']),
  order([free, 0.5]),
  order([free, 1_000_001]),
  post('/api/users', { name: '', email: 'ada@example.com' }),
  post('/api/users', { name: 'Ada', email: 'ada' }),
  post('/api/users', { name: 7, email: 'ada@example.com' }),
  post('/api/users', { name: 'x'.repeat(201), email: 'ada@example.com' }),
  post('/api/users', {}),
  { method: 'POST', path: '/api/users', body: '{' },
  { method: 'GET', path: `/api/users/${userId(999)}` },
  { method: 'GET', path: '/api/users/nobody' },
  { method: 'GET', path: '/nowhere' },
];

/** Throws unless all contestants send the same responses, store the same rows and log the same lines. */
export async function check(files, database) {
  const [first, ...others] = files;
  const expected = await observe(first, database);
  for (const file of others) {
    const observed = await observe(file, database);
    // On Express the service does not audit orders, by its specification.
    const audited = [expected, observed].every(({ log }) => 'order_created' in log);
    const [these, those] = [expected, observed].map((all) => lines(all, audited ? [] : ['order_created']));
    const at = these.findIndex((line, i) => line !== those[i]);
    if (at === -1 && these.length === those.length) continue;
    throw new Error(`${file.pathname} differs from ${first.pathname}:\n  ${those[at]}\n  ${these[at]}`);
  }
}

function lines({ responses, contents, log }, ignoring) {
  const kinds = Object.entries(log).filter(([kind]) => !ignoring.includes(kind));
  const logged = kinds.map(([kind, what]) => ({ kind, ...what })).toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
  return [...responses, ...logged, ...Object.values(contents).flat()].map((it) => JSON.stringify(it));
}

async function observe(file, kind) {
  const database = await createDatabase(kind);
  const child = fork(CHILD, [file.href], {
    env: { ...process.env, NODE_ENV: 'production', LOG_LEVEL: 'info', ...database.env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const logged = readLog(child.stdout);
  const [port] = await once(child, 'message');
  const responses = [];
  for (const request of REQUESTS) responses.push(await ask(port, request));
  const log = await logged;
  child.kill();
  await once(child, 'exit');
  const contents = await database.contents();
  await database.drop();
  return { responses, contents, log };
}

async function ask(port, { method, path, body }) {
  const sent = body === undefined ? { method } : { method, body, headers: { 'content-type': 'application/json' } };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, sent);
  const text = await response.text();
  return {
    asked: `${method} ${path} ${body ?? ''}`,
    status: response.status,
    type: response.headers.get('content-type'),
    requestId: shape(response.headers.get('x-request-id') ?? ''),
    // What is refused is refused in words of one's own.
    body: response.ok ? shape(text) : Object.entries(JSON.parse(text)).map(([key, value]) => [key, typeof value]),
  };
}

/** How many lines of each kind there are, and what they tell, once every request has its line. */
async function readLog(stream) {
  const kinds = {};
  for await (const line of createInterface({ input: stream })) {
    const record = JSON.parse(line);
    const kind = record.action ?? record.msg;
    if (kind === 'listening') continue;
    kinds[kind] ??= { count: 0, fields: Object.keys(record).toSorted().join() };
    kinds[kind].count += 1;
    if (kinds['request']?.count === REQUESTS.length) return kinds;
  }
  throw new Error('The server ended before it had logged all requests');
}

const shape = (text) => text.replaceAll(UUID, '<id>').replaceAll(TIME, '<time>');
