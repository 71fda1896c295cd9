import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mariadbUrl, postgresUrl } from '@ambit/test-kit';
import { afterAll, describe, expect, test } from 'vitest';
import { mariadb, postgres } from './support/databases.js';
import { request } from './support/http.js';
import { freePort, listening } from './support/ports.js';
import { ServiceProcess } from './support/service-process.js';

const changed = (url: string, change: Partial<URL>): string => Object.assign(new URL(url), change).href;

/** The message of a start that fails, which is one line of the log. */
async function refusalOf(env: Readonly<Record<string, string>>): Promise<string> {
  const { code, output } = await new ServiceProcess(env).exit;
  const [line = '', ...others] = output.trimEnd().split('\n');
  expect([code, others]).toEqual([1, []]);
  expect(output).not.toContain('s3cret');
  const { level, msg, err } = JSON.parse(line) as { level: number; msg: string; err: unknown };
  expect([level, err]).toEqual([50, undefined]);
  return msg.replace('The service could not start. ', '');
}

describe('the service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-start-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const pathOf = (name: string): string => join(folder, name);
  test.each<[what: string, DATA_DIR: string, message: RegExp]>([
    [
      'a file where a folder should be',
      pathOf('file/data'),
      /^The database cannot be used: ENOTDIR\b.* It is SQLite in .*\/file\/data\b.* let DATA_DIR name another folder/,
    ],
    [
      'a file that is not a database',
      pathOf('noise'),
      /^The database cannot be used: .*file is not a database \(XX001\)\. It is SQLite in .*noise.* restore a backup/,
    ],
    ['a file that cannot be opened', pathOf('folder'), /^The database cannot be used: .* It is SQLite in .*folder/],
  ])('with %s for SQLite fails at once, and says why in one line', async (_, DATA_DIR, message) => {
    writeFileSync(pathOf('file'), '');
    for (const name of ['noise', 'folder/ambit.db']) mkdirSync(pathOf(name), { recursive: true });
    writeFileSync(pathOf('noise/ambit.db'), Buffer.alloc(8192, 'noise'));
    expect(await refusalOf({ DATA_DIR })).toMatch(message);
  });

  test.skipIf(postgres.missing || mariadb.missing).each<[what: string, url: string, message: RegExp]>([
    ['a database', changed(postgresUrl, { pathname: '/nowhere' }), /database "nowhere" does not exist \(3D000\)/],
    ['a user', changed(postgresUrl, { username: 'nobody_at_all' }), /role "nobody_at_all" does not exist \(28000\)/],
    ['a database of MariaDB', changed(mariadbUrl, { pathname: '/nowhere' }), /Unknown database 'nowhere' \(42000\)/],
    [
      'a password of MariaDB',
      changed(mariadbUrl, { pathname: '/shop', password: 's3cret' }),
      /Access denied for user .* \(28000\)/,
    ],
    ['TLS', changed(postgresUrl, { search: '?sslmode=verify-full' }), /does not support SSL/],
    [
      'TLS of MariaDB',
      changed(mariadbUrl, { pathname: '/shop', search: '?ssl-mode=VERIFY_IDENTITY' }),
      /does not support secure connection/,
    ],
  ])('with %s that the server does not know fails at once, and says why', async (_, DATABASE_URL, message) => {
    const refusal = await refusalOf({ DATABASE_URL, START_TIMEOUT_MS: '600000' });
    expect(refusal).toMatch(message);
    expect(refusal).toMatch(
      /^The database cannot be used: .* It is (?:PostgreSQL|MariaDB) at .* \(DATABASE_URL\)\. Check/,
    );
  });

  test('logs once that its database is away, and what to do, however often it tries', async () => {
    const port = await freePort();
    const DATABASE_URL = `postgres://ada:s3cret@127.0.0.1:${port}/shop`;
    const { code, output } = await new ServiceProcess({ DATABASE_URL, START_TIMEOUT_MS: '3000' }).exit;
    const lines = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const why = `connect ECONNREFUSED 127.0.0.1:${port}`;
    const place = `PostgreSQL at 127.0.0.1:${port}/shop (DATABASE_URL)`;
    const retry = { level: 40, time: expect.any(String), msg: 'the database cannot be used yet', why, place };
    const advice = expect.stringMatching(
      `^The service could not start. The database cannot be used: ${why}. It is ${place.replaceAll(/[()]/g, '\\$&')}. Check`,
    ) as string;
    expect([code, lines.length, lines[0]]).toEqual([
      1,
      2,
      { ...retry, fix: expect.stringMatching(/DATABASE_URL/) as string },
    ]);
    expect(lines.at(-1)).toEqual({ level: 50, time: expect.any(String), msg: advice });
  });

  test.skipIf(postgres.missing)('waits for a database that resets connections at first', async () => {
    await using database = await postgres.open();
    const { hostname, port: postgresPort } = new URL(postgresUrl);
    const port = await freePort();
    await using service = new ServiceProcess({
      DATABASE_URL: changed(database.env['DATABASE_URL'] ?? '', { hostname: '127.0.0.1', port: String(port) }),
    });
    const closed = createServer((socket) => {
      socket.once('data', () => void socket.resetAndDestroy()).on('error', () => undefined);
    });
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
