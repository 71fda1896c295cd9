/**
 * The cost of recording requests: `node bench/replay.mjs [--rounds 40] [--requests 300] [--host Express,Fastify]`. One server, whose requests are a
 * transaction of two statements on PostgreSQL, changes in turn between no recorder, no recorder once more (the noise), an `AsyncLocalStorage` of
 * Node alone, and a recorder. The cheapest round of each counts: other programs on the machine only add to it. Then the memory of 200
 * recorded requests in progress, each with 32 KB of rows.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Container } from '@ambit/container';
import { containerMiddleware } from '@ambit/express';
import { containerPlugin } from '@ambit/fastify';
import { record } from '@ambit/replay';
import { runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import express from 'express';
import { fastify } from 'fastify';
import { pick, progress } from './shared/command.mjs';
import { openLoad } from './shared/load.mjs';
import { createPostgresDatabase, run } from './shared/postgres.mjs';
import { startChild } from './shared/process.mjs';
import { table } from './shared/results.mjs';

const OPEN = 200;
const SCHEMA = `
  CREATE TABLE products (id text PRIMARY KEY, name text, price int, discount jsonb, added timestamptz, stock int);
  INSERT INTO products SELECT 'p' || i, 'Product ' || i, i, '{"percent": 20}', now(), 1000000 FROM generate_series(0, 99) i;
  CREATE TABLE orders (id uuid PRIMARY KEY, product text, total numeric, at timestamptz)`;

async function order(scope, { product }) {
  return runInTransaction(scope, async (inner) => {
    const connection = inner.resolve('IConnection');
    const [row] = await connection.query('SELECT * FROM products WHERE id = $1', [product]);
    const params = [crypto.randomUUID(), product, row.price, new Date()];
    await connection.query('INSERT INTO orders (id, product, total, at) VALUES ($1, $2, $3, $4)', params);
    return { id: params[0], total: row.price };
  });
}

/** Reads its rows, and stays open until its client leaves. */
async function stay(pool) {
  await pool.query("SELECT id, name, price, repeat('x', 300) AS text FROM products LIMIT 80");
  await new Promise(() => undefined);
}

async function listen(host, container, pool) {
  if (host === 'Fastify') {
    const app = fastify();
    await app.register(containerPlugin, { container });
    app.post('/orders', (request) => order(request.container, request.body));
    app.get('/stay', () => stay(pool));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  }
  const app = express();
  app.use(containerMiddleware(container), express.json());
  app.post('/orders', async (req, res) => res.json(await order(req.container, req.body)));
  app.get('/stay', () => stay(pool));
  return createServer(app).listen(0, '127.0.0.1');
}

/** Each returns a function that undoes it. @type {Record<string, (container: Container) => () => void>} */
const WAYS = {
  without: () => () => undefined,
  again: () => () => undefined,
  'AsyncLocalStorage alone': () => {
    const contexts = new AsyncLocalStorage();
    const enter = () => contexts.enterWith({});
    subscribe('http.server.request.start', enter);
    return () => {
      unsubscribe('http.server.request.start', enter);
      contexts.disable();
    };
  },
  recorded: (container) => {
    const recorder = record(container, { keep: () => undefined });
    return () => recorder.stop();
  },
};

/** The server, in a process of its own: at the name of a way it changes to that, and each message is responded to with what it has used so far. */
async function serve(host, connectionString) {
  const pool = createPostgresPool({ connectionString, max: 10 });
  const container = new Container({ tags: ['application'] });
  container.register('IDatabasePool', () => pool);
  const server = await listen(host, container, pool);
  if (!server.listening) await once(server, 'listening');
  let undo = WAYS.without(container);
  process.on('message', (message) => {
    if (message in WAYS) {
      undo();
      undo = WAYS[message](container);
    }
    if (message === 'bytes') gc();
    const { user, system } = process.cpuUsage();
    const { heapUsed, external } = process.memoryUsage();
    process.send({ cpu: user + system, bytes: heapUsed + external });
  });
  process.on('disconnect', () => process.exit());
  process.send(server.address().port);
}

async function measure(host, url, { rounds, requests }) {
  const program = new URL(import.meta.url);
  const { first: port, ask, stop } = await startChild(program, [host, url], {}, { execArgv: ['--expose-gc'] });
  const requestOf = (i) => ({ method: 'POST', path: '/orders', body: JSON.stringify({ product: `p${i}` }) });
  const load = await openLoad(port, { connections: 16, requestOf });
  const least = Object.fromEntries(Object.keys(WAYS).map((way) => [way, Infinity]));
  const measured = async (way) => {
    await ask(way);
    await load.send(requests / 3);
    const { cpu: before } = await ask('cpu');
    await load.send(requests);
    return ((await ask('cpu')).cpu - before) / requests;
  };
  // V8 goes on compiling for some rounds.
  for (let round = -8; round < rounds; round += 1) {
    progress(`${host}: round ${round}`);
    const ways = round % 2 === 0 ? Object.keys(WAYS) : Object.keys(WAYS).toReversed();
    for (const way of ways) {
      const cpu = await measured(way);
      if (round >= 0) least[way] = Math.min(least[way], cpu);
    }
  }
  load.close();
  const bytesOf = async (way) => {
    await ask(way);
    const { bytes: before } = await ask('bytes');
    const leaves = new AbortController();
    const stays = () => fetch(`http://127.0.0.1:${port}/stay`, { signal: leaves.signal });
    const open = Promise.allSettled(Array.from({ length: OPEN }, stays));
    await pause(2000);
    const { bytes } = await ask('bytes');
    leaves.abort();
    await open;
    return (bytes - before) / OPEN / 1024;
  };
  await bytesOf('without');
  const [own, recorded] = [await bytesOf('without'), await bytesOf('recorded')];
  await stop();
  const { without, ...others } = least;
  const over = Object.values(others).map((cpu) => `${(100 * (cpu / without - 1)).toFixed(1)} %`);
  return [host, `${without.toFixed(0)} µs`, ...over, `${(recorded - own).toFixed(0)} KB`];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '40' },
    requests: { type: 'string', default: '300' },
    host: { type: 'string' },
  },
});
if (positionals.length > 0) await serve(...positionals);
else {
  const { url, drop } = await createPostgresDatabase('ambit_bench_replay');
  const rows = [];
  try {
    await run(url, SCHEMA);
    for (const host of pick(values.host, ['Express', 'Fastify']))
      rows.push(await measure(host, url, { rounds: Number(values.rounds), requests: Number(values.requests) }));
  } finally {
    progress('');
    await drop();
  }
  const [, ...ways] = Object.keys(WAYS);
  console.log(table(['', 'CPU of a request', ...ways, 'memory of a request in progress'], rows));
}
