import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ask, expectEqual, expectStatus } from '../instances/client.mjs';
import { isListening, until } from '../kit/program.mjs';

/** @typedef {import('./place.mjs').Place} Place */
/** @typedef {(place: Place, host: 'express' | 'fastify') => Promise<string>} Story resolves with what was observed */

const LOCK_FILE = resolve(import.meta.dirname, '../../package-lock.json');
const ORDER = { items: [{ productId: 'apple', quantity: 2 }] };
const GRACE_SECONDS = 15;
const POOLER = new URL('postgres://127.0.0.1:6432');

/** @type {Record<string, Story>} */
export const STORIES = {
  'keeps an SQLite database in its volume by default': async (place, host) => {
    const { url, container } = await place.startService(host);
    const request = { body: ORDER, key: 'kept' };
    const first = await ask(`${url}/api/orders`, request);
    expectStatus(first, 201);
    expectEqual('the exit code', await container.stop(GRACE_SECONDS), 0);
    await container.start();
    await place.untilReady(url);
    const second = await ask(`${url}/api/orders`, request);
    expectEqual('the order after a restart', second.text, first.text);
    expectEqual('idempotency-replayed', second.headers.get('idempotency-replayed'), 'true');
    return 'the order is there after a restart';
  },

  'uses PostgreSQL if DATABASE_URL names one': async (place, host) => {
    const { url } = await place.startService(host, { DATABASE_URL: place.database.href });
    const placed = await ask(`${url}/api/orders`, { body: ORDER });
    expectStatus(placed, 201);
    const rows = await place.query('SELECT id FROM orders WHERE id = $1', [JSON.parse(placed.text).id]);
    expectEqual('rows', rows.length, 1);
    return 'the order is a row of it';
  },

  'runs without privileges on a read-only file system': async (place, host) => {
    const { container } = await place.startService(host);
    const status = await container.exec('cat', '/proc/1/status');
    const field = (/** @type {string} */ name) => new RegExp(`^${name}:\\s+(\\S+)`, 'm').exec(status)?.[1];
    expectEqual('the user', field('Uid'), '1000');
    expectEqual('capabilities', field('CapEff'), '0000000000000000');
    expectEqual('no new privileges', field('NoNewPrivs'), '1');
    const written = await container.tryExec('touch', '/app/written');
    if (!written.stderr.includes('Read-only file system')) throw new Error(`/app can be written: ${written.stderr}`);
    return 'user 1000, no capability, only /data can be written';
  },

  'receives SIGTERM itself, completes the order in progress and exits with 0': async (place, host) => {
    const { url, container } = await place.startService(host, { DATABASE_URL: place.database.href });
    expectEqual('process 1', await container.exec('cat', '/proc/1/cmdline'), 'node\0service/dist/main.js\0');
    await place.query("INSERT INTO stock (product_id, level) VALUES ('apple', 1000) ON CONFLICT DO NOTHING");
    const release = await place.lockStock('apple');
    const waiting = ask(`${url}/api/orders`, { body: ORDER });
    await until('the order to wait for the lock', place.isSomebodyWaiting);
    const start = performance.now();
    const stopped = container.stop(GRACE_SECONDS);
    await until('the service to stop', async () => (await container.logs()).includes('"msg":"stopping"'));
    await pause(500);
    await release();
    expectStatus(await waiting, 201);
    expectEqual('the exit code', await stopped, 0);
    return `201, exit code 0 after ${Math.round(performance.now() - start)} ms`;
  },

  'is healthy while it responds, unhealthy otherwise': async (place, host) => {
    const { container } = await place.startService(host);
    expectEqual('healthy', await container.isHealthy(), true);
    const silent = await place.run({ command: ['node', '-e', 'setInterval(() => {}, 1000)'] });
    expectEqual('healthy without a service', await silent.isHealthy(), false);
    return 'the HEALTHCHECK of the image says so';
  },

  'has the commands for the stock and for backups': async (place, host) => {
    const { url, container } = await place.startService(host);
    await container.exec('node', 'service/dist/stock.js', 'set', 'pear', '1');
    const body = { items: [{ productId: 'pear', quantity: 1 }] };
    expectStatus(await ask(`${url}/api/orders`, { body }), 201);
    expectStatus(await ask(`${url}/api/orders`, { body }), 409);
    const said = await container.exec('node', 'service/dist/backup.js', '/data/pear.backup');
    const header = await container.exec('head', '--bytes=15', '/data/pear.backup');
    expectEqual('the file', header, 'SQLite format 3');
    return `one pear was sold once; ${said.split('\n').at(-1)}`;
  },

  'has no package that only the build needs': async (place) => {
    const { packages } = JSON.parse(readFileSync(LOCK_FILE, 'utf8'));
    const silent = await place.run({ command: ['sleep', '600'] });
    const found = await silent.exec('find', '/app', '-path', '*/node_modules/*', '-name', 'package.json');
    const installed = found
      .split('\n')
      .map((path) => path.slice('/app/'.length, -'/package.json'.length))
      .filter((path) => path in packages);
    const superfluous = installed.filter((path) => packages[path].dev);
    expectEqual('development packages', superfluous, []);
    if (!installed.includes('node_modules/fastify')) throw new Error('Fastify is not installed');
    const missing = await silent.tryExec('test', '-e', join('/app', 'node_modules/typescript'));
    expectEqual('typescript is there', missing.code === 0, false);
    return `${installed.length} packages, none of them a development dependency`;
  },
};

/** PgBouncer's image as compose.yaml starts it, between the service's image and PostgreSQL. @param {string} folder */
export const poolerStory = (folder) => ({
  /** @type {Story} */
  'serves the service through PgBouncer, with prepared statements': async (place, host) => {
    if (await isListening(POOLER)) throw new Error(`Another program listens on ${POOLER.host}`);
    const url = new URL(place.database);
    [url.host, url.password] = [POOLER.host, 'letters1and2digits'];
    const users = join(folder, 'pgbouncer_users');
    writeFileSync(users, `"${url.username}" "${url.password}"`, { mode: 0o644 });
    const args = ['--add-host', `postgres:${place.database.hostname}`, '--volume', `${users}:/pgbouncer_users:ro`];
    const pooler = await place.run({ args }, 'ambit-pgbouncer');
    await until('PgBouncer', () => isListening(POOLER));
    const service = await place.startService(host, { DATABASE_URL: url.href, DATABASE_PREPARE: 'true' });
    const body = { items: [{ productId: 'apple', quantity: 1 }] };
    const responses = await Promise.all(Array.from({ length: 100 }, () => ask(`${service.url}/api/orders`, { body })));
    for (const response of responses) expectStatus(response, 201);
    const [row] = await place.query('SELECT count(*)::integer AS n FROM orders');
    expectEqual('orders', row?.['n'], responses.length);
    const version = /PgBouncer (\S+)/.exec(await pooler.exec('pgbouncer', '--version'))?.[1];
    return `${responses.length} orders through PgBouncer ${version}, user ${await pooler.exec('id', '-un')}`;
  },
});
