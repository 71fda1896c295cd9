import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresUrl } from '@ambit/test-kit';
import { afterAll, describe, expect, test } from 'vitest';
import { mariadb, postgres } from './support/databases.js';
import { request } from './support/http.js';
import { freePort, listening } from './support/ports.js';
import { ServiceProcess } from './support/service-process.js';

function at(url: string, port: number): string {
  const other = new URL(url);
  other.hostname = '127.0.0.1';
  other.port = String(port);
  return other.href;
}

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

  const REFUSED_BY_MARIADB: readonly (readonly [what: string, change: (url: URL) => void, message: RegExp])[] = [
    [
      'a database that does not exist',
      (url) => (url.pathname = '/nowhere'),
      /^MariaDB cannot be used: Unknown database 'nowhere' \(1049\)\. Create the database, or correct its name in DATABASE_URL\.$/,
    ],
    [
      'a wrong password',
      (url) => (url.password = 's3cret'),
      /^MariaDB cannot be used: Access denied for user .* \(1045\)\. Correct the user and the password in DATABASE_URL\.$/,
    ],
    [
      'a server that has no TLS',
      (url) => url.searchParams.set('ssl-mode', 'VERIFY_IDENTITY'),
      /^MariaDB cannot be reached: .*\. Correct ssl-mode, ssl-ca, ssl-cert and ssl-key in DATABASE_URL, or the certificates\.$/,
    ],
    [
      'a certificate that cannot be read',
      (url) => url.searchParams.set('ssl-ca', '/nope'),
      /^MariaDB cannot be reached: ENOENT: .*\. Correct ssl-ca, ssl-cert and ssl-key in DATABASE_URL\.$/,
    ],
  ];
  test.skipIf(mariadb.missing).each(REFUSED_BY_MARIADB)(
    'with %s on MariaDB fails at once, and says why in one line',
    async (_, change, message) => {
      await using database = await mariadb.open();
      const url = new URL(database.env['DATABASE_URL'] ?? '');
      change(url);
      const { code, output } = await new ServiceProcess({ DATABASE_URL: url.href, START_TIMEOUT_MS: '600000' }).exit;
      const [line = '', ...others] = output.trimEnd().split('\n');
      expect([code, others]).toEqual([1, []]);
      const { msg, err } = JSON.parse(line) as Record<string, unknown>;
      expect(err).toBeUndefined();
      expect(String(msg).replace('The service could not start. ', '')).toMatch(message);
      expect(output).not.toContain('s3cret');
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
    const place = `PostgreSQL at 127.0.0.1:${port}/shop (DATABASE_URL)`;
    const retry = { level: 40, time: expect.any(String), msg: 'the database cannot be used yet', why, place };
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

  const REFUSALS: readonly (readonly [string, (socket: Socket) => void])[] = [
    ['closes connections', (socket) => socket.destroy()],
    [
      'resets connections',
      (socket) => void socket.once('data', () => void socket.resetAndDestroy()).on('error', () => undefined),
    ],
  ];
  test.skipIf(postgres.missing).each(REFUSALS)('waits for a database that %s at first', async (_, refuse) => {
    await using database = await postgres.open();
    const { hostname, port: postgresPort } = new URL(postgresUrl);
    const port = await freePort();
    await using service = new ServiceProcess({ DATABASE_URL: at(database.env['DATABASE_URL'] ?? '', port) });
    const closed = createServer(refuse);
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
});
