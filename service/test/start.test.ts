import { execFileSync } from 'node:child_process';
import { hasSubscribers } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { Container } from '@ambit/container';
import { postgresUrl } from '@ambit/host-contract';
import { describe, expect, test, vi } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, startService } from '../src/index.js';
import { App } from './support/app.js';
import { databaseKinds, postgres, sqlite } from './support/databases.js';
import { request } from './support/http.js';
import { ServiceProcess } from './support/service-process.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };

async function listening(server: Server, port = 0): Promise<number> {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** A port on which nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await once(server.close(), 'close');
  return port;
}

function at(url: string, port: number): string {
  const other = new URL(url);
  other.hostname = '127.0.0.1';
  other.port = String(port);
  return other.href;
}

test.each(['package.json', 'deploy/Dockerfile'])('what %s builds has the page of the inspector', (file) => {
  const root = new URL('../../', import.meta.url);
  const [, projects = ''] = /tsc -b (service[^\n&]*)/.exec(readFileSync(new URL(file, root), 'utf8')) ?? [];
  const tsc = ['tsc', '-b', '--dry', '--force', ...projects.trim().split(' ')];
  expect(execFileSync('npx', tsc, { cwd: root, encoding: 'utf8' })).toContain('packages/inspector/page/tsconfig.json');
});

test('the door of the service loads no framework before one is chosen, though it exports routes for one', () => {
  const program = `
    import { Module } from 'node:module';
    await import('${new URL('../dist/index.js', import.meta.url).href}');
    const frameworks = /node_modules\\/(express|fastify)\\//;
    console.log(Object.keys(Module._cache).filter((file) => frameworks.test(file)).length);`;
  expect(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })).toBe('0\n');
});

describe('instances started at once on a fresh database', () => {
  test('all serve it, two processes on SQLite', async () => {
    await using database = await sqlite.open();
    await using one = new ServiceProcess({ ...database.env, HOST_VARIANT: 'express' });
    await using other = new ServiceProcess({ ...database.env, HOST_VARIANT: 'fastify' });
    const both = [one, other];
    const create = { method: 'POST', path: '/api/users', body: ADA };
    for (const service of both) expect((await request(await service.url(), create)).status).toBe(201);
    for (const service of both)
      expect((await request<unknown[]>(await service.url(), { path: '/api/users' })).body).toHaveLength(2);
  });

  const levels = ['read committed', 'repeatable read', 'serializable'];
  test.skipIf(postgres.missing).each(levels)('all serve it, ten on PostgreSQL that is %s by default', async (level) => {
    await using database = await postgres.open();
    const url = new URL(database.env['DATABASE_URL'] ?? '');
    const isolation = `-c default_transaction_isolation=${level.replace(' ', '\\ ')}`;
    url.searchParams.set('options', `${url.searchParams.get('options')} ${isolation}`);
    const env = { DATABASE_URL: url.href, DATABASE_POOL_SIZE: '2' };
    const apps = await Promise.all(Array.from({ length: 10 }, () => App.start('fastify', env)));
    for (const app of apps) expect((await app.request({ path: '/health/ready' })).status).toBe(200);
    await Promise.all(apps.map((app) => app.stop()));
  });
});

describe.each(databaseKinds)('a database on $name', (kind) => {
  test.skipIf(kind.missing)('that has run another version of a migration is refused', async () => {
    await using database = await kind.open();
    const app = await App.start('fastify', database.env);
    await app.pool.query(`UPDATE migrations SET checksum = 'another' WHERE name LIKE '0001%'`);
    await app.stop();
    await expect(startService(readConfig({ ...database.env, PORT: '0', LOG_LEVEL: 'silent' }))).rejects.toThrow(
      'The migration 0001-users-and-orders.sql was changed after this database had run it. Undo that, and add a new one.',
    );
  });

  test.skipIf(kind.missing)('that was left is found again as it was', async () => {
    await using database = await kind.open();
    const first = await App.start('fastify', database.env);
    const { body } = await first.request({ method: 'POST', path: '/api/users', body: ADA });
    await first.stop();
    await using second = await App.start('express', database.env);
    expect((await second.request({ path: '/api/users' })).body).toEqual([body]);
  });
});

describe('the service', () => {
  test('without a database within START_TIMEOUT_MS exits with 1, and prints no password', async () => {
    const url = `postgres://ada:s3cret@127.0.0.1:${await freePort()}/shop`;
    const { code, output } = await new ServiceProcess({ DATABASE_URL: url, START_TIMEOUT_MS: '300' }).exit;
    expect(code).toBe(1);
    expect(output).toContain('The service could not start');
    expect(output).toContain('ECONNREFUSED');
    expect(output).not.toContain('s3cret');
  });

  test.skipIf(postgres.missing)('waits for a database that comes later', async () => {
    await using database = await postgres.open();
    const { hostname, port } = new URL(postgresUrl);
    const door = await freePort();
    await using service = new ServiceProcess({ DATABASE_URL: at(database.env['DATABASE_URL'] ?? '', door) });
    const closed = createServer((socket) => socket.destroy());
    await listening(closed, door);
    await once(closed, 'connection');
    await once(closed.close(), 'close');
    const open = createServer((socket) => {
      const upstream = connect(Number(port || 5432), hostname);
      socket.on('error', () => upstream.destroy()).pipe(upstream);
      upstream.on('error', () => socket.destroy()).pipe(socket);
    });
    await listening(open.unref(), door);
    expect((await request(await service.url(), { path: '/health/ready' })).status).toBe(200);
  });

  test.each(HOST_VARIANTS)('whose port is taken does not start, with %s', async (HOST_VARIANT) => {
    const taken = createServer();
    const PORT = String(await listening(taken));
    const config = readConfig({ HOST_VARIANT, PORT, DATA_DIR: ':memory:', LOG_LEVEL: 'silent' });
    await expect(startService(config)).rejects.toThrow('EADDRINUSE');
    // What happens on the way out hides nothing.
    const dispose = vi.spyOn(Container.prototype, 'dispose').mockRejectedValueOnce(new Error('It does not end'));
    await expect(startService(config)).rejects.toThrow('EADDRINUSE');
    dispose.mockRestore();
    taken.close();
  });

  test.each(HOST_VARIANTS)(
    'that cannot be put together lets go of what it has begun, with %s',
    async (HOST_VARIANT) => {
      const env = { HOST_VARIANT, METRICS: '1', DATA_DIR: ':memory:', LOG_LEVEL: 'silent' };
      const config = { ...readConfig(env), inspector: { token: 'short' } };
      await expect(startService(config)).rejects.toThrow('token must have at least 16 characters');
      expect(hasSubscribers('ambit:scope:opened')).toBe(false);
    },
  );
});
