import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { certificate, hasPostgres, postgresUrl } from '@ambit/test-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { beginTransaction } from '../src/host.js';
import { type IDatabasePool, isTemporary, type TransactionError } from '../src/index.js';
import { StatementNames } from '../src/postgres/driver.js';
import { createPostgresPool } from '../src/postgres/index.js';
import { translated } from '../src/postgres/language.js';
import { readServers, splitHosts } from '../src/postgres/options.js';
import { saysNothingStored } from '../src/sql-state.js';
import { openPostgres, type PostgresDatabase } from './support/databases.js';
import { requestScope } from './support/requests.js';

describe.skipIf(!hasPostgres)('a pool with several hosts', () => {
  /** Accepts connections and never says a word. */
  let silent: Server;
  const sockets = new Set<Socket>();
  let tries = 0;
  const pools: IDatabasePool[] = [];

  beforeEach(async () => {
    tries = 0;
    silent = createServer((socket) => {
      tries += 1;
      sockets.add(socket);
      socket.on('error', () => undefined);
    });
    await once(silent.listen(0, '127.0.0.1'), 'listening');
  });
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.close()));
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  const ofSilent = (): string => `127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const poolOf = (hosts: (real: string) => string, { user }: { user?: string } = {}): IDatabasePool => {
    const url = new URL(postgresUrl);
    const real = `${url.hostname}:${url.port === '' ? 5432 : url.port}`;
    const credentials = url.password === '' ? (user ?? url.username) : `${user ?? url.username}:${url.password}`;
    const connectionString = `postgres://${credentials}@${hosts(real)}${url.pathname}`;
    const pool = createPostgresPool({ connectionString, max: 4, connectTimeoutMs: 3000 });
    pools.push(pool);
    return pool;
  };

  test('goes on to the next when one is silent, and asks that one last for a while', async () => {
    const pool = poolOf((real) => `${ofSilent()},${real}`);
    await expect(pool.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    const all = await Promise.all([pool.getConnection(), pool.getConnection(), pool.getConnection()]);
    expect(tries).toBe(1);
    all.forEach((connection) => connection.release());
  });

  test('reports all hosts when none gives a connection, as a temporary failure', async () => {
    const pool = poolOf(() => `${ofSilent()},127.0.0.1:1`);
    const error = (await pool.query('SELECT 1').catch((failure: unknown) => failure)) as TransactionError;
    expect(error).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', unavailable: true });
    expect((error.cause as AggregateError).errors).toHaveLength(2);
    expect(isTemporary(error)).toBe(true);
  });

  test('looks no further when a server refuses the user, as libpq does', async () => {
    const pool = poolOf((real) => `${real},${ofSilent()}`, { user: 'no_such_role' });
    const error = await pool.query('SELECT 1').catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', sqlState: '28000' });
    expect(isTemporary(error)).toBe(false);
    expect(tries).toBe(0);
  });
});

const folder = mkdtempSync(join(tmpdir(), 'ambit-tls-'));
const trusted = join(folder, 'root.crt');
const sockets = new Set<Socket>();

/** PostgreSQL with TLS: accepts the request for it, and passes on what was encrypted. */
const withTls = createServer((socket) => {
  keep(socket).once('data', () => {
    socket.write('S');
    const secure = keep(new TLSSocket(socket, { isServer: true, ...certificate }));
    const { hostname, port } = new URL(postgresUrl);
    secure.pipe(keep(connect(Number(port || 5432), hostname))).pipe(secure);
  });
});
/** One that has no TLS. */
const withoutTls = createServer((socket) => void keep(socket).once('data', () => socket.write('N')));

function keep<S extends Socket>(socket: S): S {
  sockets.add(socket);
  socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  return socket;
}

async function query(server: Server, host: string, parameters: string): Promise<unknown> {
  const url = new URL(postgresUrl);
  url.host = `${host}:${(server.address() as AddressInfo).port}`;
  await using pool = createPostgresPool({ connectionString: `${url.href}?${parameters}`, max: 1, closeTimeoutMs: 0 });
  return await pool.query('SELECT 1 AS one');
}

describe.skipIf(!hasPostgres)('a connection to PostgreSQL', () => {
  beforeAll(async () => {
    writeFileSync(trusted, certificate.cert);
    for (const server of [withTls, withoutTls]) await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    for (const server of [withTls, withoutTls]) server.close();
    rmSync(folder, { recursive: true });
  });

  test.each(['verify-full', 'verify-ca', 'require', 'prefer'])('is encrypted with sslmode=%s', async (mode) => {
    expect(await query(withTls, 'localhost', `sslmode=${mode}&sslrootcert=${trusted}`)).toEqual([{ one: 1 }]);
  });

  test.each(['verify-full', 'verify-ca', 'require', 'prefer'])(
    'is refused with sslmode=%s where the certificate is of nobody who is trusted, or of another host',
    async (mode) => {
      await expect(query(withTls, 'localhost', `sslmode=${mode}`)).rejects.toMatchObject({
        cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
      });
      await expect(query(withTls, '127.0.0.1', `sslmode=${mode}&sslrootcert=${trusted}`)).rejects.toMatchObject({
        cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' },
      });
    },
  );

  test.each(['verify-full', 'prefer'])('is never in clear text with sslmode=%s', async (mode) => {
    await expect(query(withoutTls, 'localhost', `sslmode=${mode}`)).rejects.toMatchObject({
      cause: { message: 'The server does not support SSL connections' },
    });
  });
});

describe.skipIf(!hasPostgres)('a connection to PostgreSQL that takes no writes', () => {
  let database: PostgresDatabase;

  beforeEach(async () => {
    database = await openPostgres();
    await database.admin.query('CREATE TABLE orders (id int PRIMARY KEY)');
  });
  afterEach(() => database.drop());

  const readOnlyUrl = (): string => {
    const url = new URL(database.url());
    url.searchParams.set('options', `${url.searchParams.get('options')} -c default_transaction_read_only=on`);
    return url.href;
  };

  test('is not handed out where the session says that it is read-only by default', async () => {
    const pool = database.pool({ connectionString: readOnlyUrl(), max: 1 });
    await expect(pool.getConnection()).rejects.toMatchObject({
      code: 'AMBIT_TX_READ_ONLY',
      sqlState: '25006',
      unavailable: true,
      status: 503,
    });
    const reader = await pool.getConnection({ readOnly: true });
    await expect(reader.query('SELECT count(*)::int AS n FROM orders')).resolves.toEqual([{ n: 0 }]);
    reader.release();
    expect(pool.size).toMatchObject({ open: 0 });
  });

  test('is handed out where any will do', async () => {
    const pool = database.pool({ connectionString: readOnlyUrl(), max: 1, targetSessionAttrs: 'any' });
    await expect(pool.query('SELECT count(*)::int AS n FROM orders')).resolves.toEqual([{ n: 0 }]);
    expect(pool.size).toMatchObject({ open: 1, idle: 1 });
  });

  test('is closed, and asks for 503, where a write finds it out', async () => {
    const pool = database.pool({ max: 1 });
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await connection.query('SET LOCAL transaction_read_only = on');
    const insert = connection.query('INSERT INTO orders VALUES (1)');
    await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_READ_ONLY', sqlState: '25006', status: 503 });
    await connection.rollback();
    connection.release();
    expect(pool.size).toMatchObject({ open: 0 });
  });

  test('is kept, and a mistake of the caller, where read-only was asked for', async () => {
    const pool = database.pool({ max: 1 });
    const transaction = await beginTransaction(requestScope(pool), { readOnly: true });
    const insert = transaction.connection.query('INSERT INTO orders VALUES (1)');
    await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '25006', status: 500 });
    await transaction.rollback();
    expect(pool.size).toMatchObject({ open: 1, idle: 1 });
  });
});

describe('splitHosts()', () => {
  test.each<[string, string[]]>([
    ['postgres://h1/db', ['postgres://h1/db']],
    ['postgres://h1:5432,h2:5433/db', ['postgres://h1:5432/db', 'postgres://h2:5433/db']],
    ['postgresql://h1,h2/db', ['postgresql://h1/db', 'postgresql://h2/db']],
    ['postgres://u:p%40s@h1,h2:1/db?a=b', ['postgres://u:p%40s@h1/db?a=b', 'postgres://u:p%40s@h2:1/db?a=b']],
    ['postgres://u:a,b@h1/db', ['postgres://u:a,b@h1/db']],
    ['postgres://u:a@b@h1,h2/db', ['postgres://u:a@b@h1/db', 'postgres://u:a@b@h2/db']],
    ['postgres://[::1]:1,[::2]/db', ['postgres://[::1]:1/db', 'postgres://[::2]/db']],
    ['postgres://%2Ftmp,h2/db', ['postgres://%2Ftmp/db', 'postgres://h2/db']],
    ['postgres://h1,h2', ['postgres://h1', 'postgres://h2']],
    ['postgres://h1,h2?user=u', ['postgres://h1?user=u', 'postgres://h2?user=u']],
    ['postgres:///db?host=h1', ['postgres:///db?host=h1']],
    ['postgres:///db?host=h1,h2', ['postgres:///db?host=h1', 'postgres:///db?host=h2']],
    [
      'postgres://u@/db?host=h1,h2&port=1,2&a=b',
      ['postgres://u@/db?host=h1&port=1&a=b', 'postgres://u@/db?host=h2&port=2&a=b'],
    ],
    ['postgres:///db?host=h1,h2&port=7', ['postgres:///db?host=h1&port=7', 'postgres:///db?host=h2&port=7']],
    ['postgres://h1/db,x?a=b,c', ['postgres://h1/db,x?a=b,c']],
    ['/tmp db', ['/tmp db']],
    ['socket:/tmp?db=x', ['socket:/tmp?db=x']],
  ])('%s', (url, expected) => expect(splitHosts(url)).toEqual(expected));

  test('refuses as many ports as there are not hosts', () => {
    expect(() => splitHosts('postgres:///db?host=h1,h2,h3&port=1,2')).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining('3 hosts and 2 ports') }),
    );
  });
});

describe('readServers()', () => {
  test('says that there is no host for several ports', () => {
    const message = expect.stringContaining('No host and 2 ports do not match: give one port for all hosts');
    expect(() => readServers({}, { PGPORT: '1,2' })).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message }),
    );
  });

  test('reads hosts and ports from options', () => {
    expect(readServers({ host: 'h1,h2', port: 7 }, {}).addresses).toEqual([
      { host: 'h1', port: 7 },
      { host: 'h2', port: 7 },
    ]);
    expect(readServers({ host: 'h1' }, {}).addresses).toEqual([{ host: 'h1' }]);
    expect(readServers({}, {}).addresses).toEqual([{}]);
  });

  test('reads them from the environment of libpq', () => {
    expect(readServers({}, { PGHOST: 'h1,h2', PGPORT: '1,2' }).addresses).toEqual([
      { host: 'h1', port: 1 },
      { host: 'h2', port: 2 },
    ]);
    expect(readServers({ host: 'h3' }, { PGHOST: 'h1,h2', PGPORT: '1' }).addresses).toEqual([{ host: 'h3' }]);
    expect(readServers({}, { PGTARGETSESSIONATTRS: 'primary' }).target).toBe('primary');
  });

  test('reads what the session must be like, and the connection string wins, as in pg', () => {
    const connectionString = 'postgres://h1,h2/db?target_session_attrs=standby';
    expect(readServers({ connectionString, host: 'h3', targetSessionAttrs: 'any' }, {})).toEqual({
      addresses: [
        { connectionString: 'postgres://h1/db?target_session_attrs=standby' },
        { connectionString: 'postgres://h2/db?target_session_attrs=standby' },
      ],
      target: 'standby',
    });
    expect(readServers({ connectionString: 'postgres://h1/db', targetSessionAttrs: 'any' }, {}).target).toBe('any');
    expect(readServers({}, {}).target).toBeUndefined();
  });

  test.each([
    ['the connection string', { connectionString: 'postgres://h/db?target_session_attrs=master' }, {}],
    ['an option', { targetSessionAttrs: 'master' as 'primary' }, {}],
    ['the environment', {}, { PGTARGETSESSIONATTRS: 'master' }],
  ])('refuses what it does not know, in %s', (_where, options, env) => {
    expect(() => readServers(options, env)).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining('prefer-standby') }),
    );
  });
});

const said = (severity: string, code: string): Error =>
  Object.assign(new Error('server conn crashed?'), { severity, code });

describe('what PgBouncer takes its leave with, which is 08P01 whatever the reason', () => {
  it('is a lost connection', () => {
    expect(translated(said('FATAL', '08P01'), false)).toMatchObject({
      code: 'AMBIT_TX_CONNECTION_LOST',
      sqlState: '08006',
      status: 503,
    });
  });

  it('is not confused with a wrong number of parameters, of which PostgreSQL says the same and stays', () => {
    expect(translated(said('ERROR', '08P01'), false)).toMatchObject({
      code: 'AMBIT_TX_STATEMENT_FAILED',
      sqlState: '08P01',
    });
  });
});

test('the statement mode of PgBouncer, where nothing can be committed or rolled back, is no outage', () => {
  const error = Object.assign(said('FATAL', '08P01'), {
    message: 'transaction blocks not allowed in statement pooling mode',
  });
  expect(translated(error, true)).toMatchObject({ code: 'AMBIT_TX_UNSUPPORTED', status: 500, cause: error });
});

describe('what PostgreSQL takes its leave with', () => {
  it.each([
    ['FATAL', '53200'],
    ['PANIC', '53100'],
  ])('is no last word on a COMMIT: %s %s', (severity, code) => {
    const error = translated(said(severity, code), false);
    expect(error).toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '08006' });
    expect(saysNothingStored(error)).toBe(false);
  });

  it('is one where it got no response to COMMIT', () => {
    const error = translated(said('FATAL', '25P03'), false);
    expect(error).toMatchObject({ code: 'AMBIT_TX_CONNECTION_LOST', sqlState: '25P03' });
    expect(saysNothingStored(error)).toBe(true);
  });

  it('may say that the transaction can be run again', () => {
    expect(translated(said('FATAL', '40001'), false)).toMatchObject({ retryable: true });
  });
});

describe('the name of a prepared statement', () => {
  it('is the same in every process, whatever was prepared before', () => {
    const [one, other] = [new StatementNames(), new StatementNames()];
    other.nameOf('DELETE FROM users');

    expect(one.nameOf('SELECT 1')).toBe(other.nameOf('SELECT 1'));
    expect(one.nameOf('SELECT 1')).not.toBe(other.nameOf('DELETE FROM users'));
  });
});
