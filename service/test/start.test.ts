import { execFileSync } from 'node:child_process';
import { hasSubscribers } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Container } from '@ambit/container';
import { postgresUrl } from '@ambit/host-contract';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { createPool } from '../src/database/pool.js';
import { readConfig, startService } from '../src/index.js';
import { App } from './support/app.js';
import { databaseKinds, postgres, sqlite } from './support/databases.js';
import { request } from './support/http.js';
import { freePort, listening } from './support/ports.js';
import { ServiceProcess } from './support/service-process.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };

function at(url: string, port: number): string {
  const other = new URL(url);
  other.hostname = '127.0.0.1';
  other.port = String(port);
  return other.href;
}

test.each(['package.json', 'deploy/Dockerfile'])('%s builds the page of the inspector', (file) => {
  const root = new URL('../../', import.meta.url);
  const [, projects = ''] = /tsc -b (service[^\n&"]*)/.exec(readFileSync(new URL(file, root), 'utf8')) ?? [];
  const tsc = ['tsc', '-b', '--dry', '--force', ...projects.trim().split(' ')];
  expect(execFileSync('npx', tsc, { cwd: root, encoding: 'utf8' })).toContain('packages/inspector/page/tsconfig.json');
});

test('the entry point of the service loads no framework before one is chosen, though it exports routes for one', () => {
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
      'The migration 0001-users-and-orders.sql was changed after this database had run it. Undo the change, and add a new migration.',
    );
  });

  test.skipIf(kind.missing)('keeps its rows when the service starts again', async () => {
    await using database = await kind.open();
    const first = await App.start('fastify', database.env);
    const { body } = await first.request({ method: 'POST', path: '/api/users', body: ADA });
    await first.stop();
    await using second = await App.start('express', database.env);
    expect((await second.request({ path: '/api/users' })).body).toEqual([body]);
  });
});

describe.each(databaseKinds)('a database of another program on $name', (kind) => {
  test.skipIf(kind.missing).each([
    ['a table users', 'CREATE TABLE users (a integer)', /"?users"? already exists/],
    ['a view users', 'CREATE VIEW users AS SELECT 1 AS id', /"?users"? already exists/],
    ['a table that a later migration creates', 'CREATE TABLE idempotency_keys (a integer)', /already exists/],
    ['migrations of its own', 'CREATE TABLE migrations (id integer)', /checksum/],
  ])('with %s is refused in one line, and is not changed', async (_, sql, reason) => {
    await using database = await kind.open();
    await using pool = createPool(readConfig(database.env).database);
    await pool.query(sql);
    const { code, output } = await new ServiceProcess(database.env).exit;
    const [line = '', ...others] = output.trimEnd().split('\n');
    expect([code, others]).toEqual([1, []]);
    const { msg, err } = JSON.parse(line) as Record<string, unknown>;
    expect(err).toBeUndefined();
    expect(msg).toMatch(reason);
    expect(msg).toMatch(/This seems to be the database of another program\. Let DATA(?:BASE_URL|_DIR) name /);
    await expect(pool.query('SELECT id FROM migration_lock')).rejects.toThrow();
    if (!sql.includes('migrations')) await expect(pool.query('SELECT name FROM migrations')).rejects.toThrow();
  });
});

describe('the service', () => {
  test('fails at once when sslmode requires TLS and the server has none', async () => {
    const server = createServer((socket) => socket.once('data', () => socket.write('N')));
    const port = await listening(server);
    const DATABASE_URL = `postgres://ada:s3cret@127.0.0.1:${port}/shop?sslmode=verify-full`;
    const { code, output } = await new ServiceProcess({ DATABASE_URL, START_TIMEOUT_MS: '600000' }).exit;
    server.close();
    const { msg } = JSON.parse(output) as { msg: string };
    expect([code, msg]).toEqual([
      1,
      'The service could not start. PostgreSQL cannot be reached: The server does not support SSL connections.' +
        ' Correct sslmode, sslrootcert, sslcert and sslkey in DATABASE_URL, or the certificates.',
    ]);
  });

  test.each(['/nope', '/'])('that cannot read sslrootcert=%s fails at once', async (file) => {
    const DATABASE_URL = `postgres://ada:s3cret@127.0.0.1:${await freePort()}/shop?sslrootcert=${file}`;
    const { code, output } = await new ServiceProcess({ DATABASE_URL, START_TIMEOUT_MS: '600000' }).exit;
    const { msg } = JSON.parse(output) as { msg: string };
    expect(code).toBe(1);
    expect(msg).toMatch(/PostgreSQL cannot be reached: E(?:NOENT|ISDIR): .*\. Correct sslmode, sslrootcert, /);
  });

  test('waits for a server whose socket file does not exist yet', async () => {
    const DATABASE_URL = 'postgres:///shop?host=/nope&user=ada';
    const { output } = await new ServiceProcess({ DATABASE_URL, START_TIMEOUT_MS: '300' }).exit;
    expect(output).toContain('the database cannot be used yet');
  });

  describe.each(HOST_VARIANTS)('reports in one line that it cannot listen, with %s', (HOST_VARIANT) => {
    const failsToListen = async (env: Record<string, string>): Promise<unknown[]> => {
      const { code, output } = await new ServiceProcess({ HOST_VARIANT, DATA_DIR: ':memory:', ...env }).exit;
      return [code, JSON.parse(output)];
    };
    const saying = (msg: string): object => ({
      level: 50,
      time: expect.any(String),
      msg: expect.stringContaining(`The service could not start. ${msg}`),
    });

    test('where HOST is an address of another machine', async () => {
      const expected = saying('HOST=203.0.113.1 is not an address of this machine (EADDRNOTAVAIL). Let HOST be ');
      expect(await failsToListen({ HOST: '203.0.113.1' })).toEqual([78, expected]);
    });

    test('where HOST is a name that cannot exist', async () => {
      const expected = saying('HOST=two..dots has no address (ENOTFOUND). Let HOST be an IP address');
      expect(await failsToListen({ HOST: 'two..dots' })).toEqual([78, expected]);
    });

    test('where PORT is in use', async () => {
      const taken = createServer();
      const PORT = String(await listening(taken));
      const expected = saying(`PORT=${PORT} is in use on 127.0.0.1 (EADDRINUSE). Stop the program that uses it`);
      expect(await failsToListen({ PORT })).toEqual([1, expected]);
      taken.close();
    });
  });

  test.each(HOST_VARIANTS)('with INSPECTOR=1 logs the URL of the inspector, with %s', async (HOST_VARIANT) => {
    await using service = new ServiceProcess({ HOST_VARIANT, DATA_DIR: ':memory:', INSPECTOR: '1' });
    const { url, inspector } = await service.says('listening');
    expect(inspector).toBe(`${String(url)}/inspector`);
    expect((await fetch(String(inspector))).status).toBe(200);
  });

  const folder = mkdtempSync(join(tmpdir(), 'ambit-start-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const pathOf = (name: string): string => join(folder, name);
  const UNUSABLE: readonly (readonly [what: string, DATA_DIR: string, message: RegExp])[] = [
    [
      'a folder that cannot be created',
      '/proc/nope',
      /^The folder \/proc\/nope of DATA_DIR cannot be created: ENOENT\b.*\. Name a folder/,
    ],
    [
      'a file where a folder should be',
      pathOf('file/data'),
      /^The folder .*\/file\/data of DATA_DIR cannot be created: ENOTDIR\b/,
    ],
    [
      'a file that is not a database',
      pathOf('noise'),
      /^The file ambit\.db in .*\/noise cannot be used: .*file is not a database \(XX001\)\. .* Restore a backup/,
    ],
    [
      'a file that cannot be opened',
      pathOf('folder'),
      /^The file ambit\.db in .*\/folder cannot be used: .*\. Let the user of the service read and write/,
    ],
  ];
  test.each(UNUSABLE)('with %s for SQLite fails at once, and says why in one line', async (_, DATA_DIR, message) => {
    writeFileSync(pathOf('file'), '');
    for (const name of ['noise', 'folder/ambit.db']) mkdirSync(pathOf(name), { recursive: true });
    writeFileSync(pathOf('noise/ambit.db'), Buffer.alloc(8192, 'noise'));
    const { code, output } = await new ServiceProcess({ DATA_DIR }).exit;
    const [line = '', ...others] = output.trimEnd().split('\n');
    expect([code, others]).toEqual([1, []]);
    const { level, msg, err } = JSON.parse(line) as Record<string, unknown>;
    expect([level, err]).toEqual([50, undefined]);
    expect(String(msg).replace('The service could not start. ', '')).toMatch(message);
  });

  const REFUSED: readonly (readonly [what: string, user: string, database: string, message: string])[] = [
    [
      'a database that does not exist',
      'postgres',
      'nowhere',
      'PostgreSQL cannot be used: database "nowhere" does not exist (3D000). Create the database, or correct its name in DATABASE_URL.',
    ],
    [
      'a user that does not exist',
      'nobody_at_all',
      'postgres',
      'PostgreSQL cannot be used: role "nobody_at_all" does not exist (28000). Correct the user in DATABASE_URL, or allow it in pg_hba.conf.',
    ],
  ];
  test.skipIf(postgres.missing).each(REFUSED)(
    'with %s fails at once, and says why',
    async (_, user, database, message) => {
      const url = new URL(postgresUrl);
      [url.username, url.pathname] = [user, database];
      const { code, output } = await new ServiceProcess({ DATABASE_URL: url.href, START_TIMEOUT_MS: '600000' }).exit;
      const lines = output
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as object);
      expect([code, lines]).toEqual([
        1,
        [{ level: 50, time: expect.any(String), msg: `The service could not start. ${message}` }],
      ]);
    },
  );

  test('logs each attempt to reach its database', async () => {
    const port = await freePort();
    const DATABASE_URL = `postgres://ada:s3cret@127.0.0.1:${port}/shop`;
    const { code, output } = await new ServiceProcess({ DATABASE_URL, START_TIMEOUT_MS: '1000' }).exit;
    const lines = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const why = `connect ECONNREFUSED 127.0.0.1:${port}`;
    const retry = { level: 40, time: expect.any(String), msg: 'the database cannot be used yet', why };
    const advice = 'Check that it runs, and the host and the port in DATABASE_URL.';
    expect([code, lines]).toEqual([
      1,
      [
        { ...retry, nextTryInMs: 250 },
        { ...retry, nextTryInMs: 500 },
        {
          level: 50,
          time: expect.any(String),
          msg: `The service could not start. PostgreSQL cannot be reached: ${why}. ${advice}`,
        },
      ],
    ]);
  });

  test('without a database within START_TIMEOUT_MS exits with 1, and prints no password', async () => {
    const url = `postgres://ada:s3cret@127.0.0.1:${await freePort()}/shop`;
    const { code, output } = await new ServiceProcess({ DATABASE_URL: url, START_TIMEOUT_MS: '300' }).exit;
    expect(code).toBe(1);
    expect(output).toContain('The service could not start');
    expect(output).toContain('ECONNREFUSED');
    expect(output).not.toContain('s3cret');
  });

  test.skipIf(postgres.missing)('waits for a database that starts later', async () => {
    await using database = await postgres.open();
    const { hostname, port: postgresPort } = new URL(postgresUrl);
    const port = await freePort();
    await using service = new ServiceProcess({ DATABASE_URL: at(database.env['DATABASE_URL'] ?? '', port) });
    const closed = createServer((socket) => socket.destroy());
    await listening(closed, port);
    await once(closed, 'connection');
    await once(closed.close(), 'close');
    const open = createServer((socket) => {
      const upstream = connect(Number(postgresPort || 5432), hostname);
      socket.on('error', () => upstream.destroy()).pipe(upstream);
      upstream.on('error', () => socket.destroy()).pipe(socket);
    });
    await listening(open.unref(), port);
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
    'that fails to start releases everything that it has opened, with %s',
    async (HOST_VARIANT) => {
      const env = { HOST_VARIANT, METRICS: '1', DATA_DIR: ':memory:', LOG_LEVEL: 'silent' };
      const config = { ...readConfig(env), inspector: { token: 'short' } };
      await expect(startService(config)).rejects.toThrow('token must have at least 16 characters');
      expect(hasSubscribers('ambit:scope:opened')).toBe(false);
    },
  );
});
