import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Container } from '@ambit/container';
import { fromPgPool } from '@ambit/drivers/pg';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import { type DatabasePool, runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { Pool } from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { inheritsNothing } from '@ambit/testing/pools';
import { POSTGRES_LEFTOVERS } from '../../packages/transaction/test/support/postgres-leftovers.js';
import { openSchema, postgresUrl } from './databases.js';

const isInstalled = ((): boolean => {
  try {
    return execFileSync('pgbouncer', ['--version']).length > 0;
  } catch {
    return false;
  }
})();

const POOLS: Readonly<Record<string, (url: string) => DatabasePool>> = {
  createPostgresPool: (connectionString) => createPostgresPool({ connectionString, prepare: false }),
  fromPgPool: (connectionString) => fromPgPool(new Pool({ connectionString })),
  fromPostgresJs: (url) => fromPostgresJs(postgres(url, { prepare: false, fetch_types: false, onnotice: () => {} })),
};

interface PgBouncer {
  readonly url: string;
  stop(): void;
}

async function startPgBouncer(...settings: readonly string[]): Promise<PgBouncer> {
  const server = new URL(postgresUrl);
  const folder = mkdtempSync(join(tmpdir(), 'ambit-'));
  // As root it changes to another user, who has to read these files.
  chmodSync(folder, 0o755);
  const port = await freePort();
  writeFileSync(join(folder, 'users.txt'), `"${server.username}" "${server.password}"\n`);
  const config = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port || 5432}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(folder, 'users.txt')}`,
    'default_pool_size = 1',
    ...settings,
  ];
  writeFileSync(config, lines.join('\n'));
  const args = process.getuid?.() === 0 ? ['-u', 'nobody', config] : [config];
  const program: ChildProcess = spawn('pgbouncer', args, { stdio: 'ignore' });
  await vi.waitUntil(() => accepts(port), 120_000);
  server.host = `127.0.0.1:${port}`;
  return {
    url: server.href,
    stop: () => {
      program.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
  });

describe.skipIf(!isInstalled).each(Object.entries(POOLS))('%s behind PgBouncer', (name, open) => {
  describe('in transaction mode with server_reset_query_always', () => {
    let pgbouncer: PgBouncer;
    beforeAll(
      async () => (pgbouncer = await startPgBouncer('pool_mode = transaction', 'server_reset_query_always = 1')),
    );
    afterAll(() => pgbouncer.stop());

    const database = { pool: () => open(pgbouncer.url) };
    const leftovers = POSTGRES_LEFTOVERS.filter(({ setUp }) => !setUp);
    inheritsNothing(it, () => database, { leftovers, hasOtherUsers: false });
  });

  describe('in transaction mode without it', () => {
    let pgbouncer: PgBouncer;
    beforeAll(async () => (pgbouncer = await startPgBouncer('pool_mode = transaction')));
    afterAll(() => pgbouncer.stop());

    it('commits and rolls back', async () => {
      const { schema, admin, drop } = await openSchema();
      const app = new Container();
      const pool = open(pgbouncer.url);
      app.register('IDatabasePool', () => pool);
      await admin.query(`CREATE TABLE ${schema}.notes (body text)`);
      const write = (body: string, fail: boolean): Promise<void> =>
        runInTransaction(app, async (scope) => {
          const connection = scope.resolve<DatabasePool>('IConnection');
          await connection.query(`INSERT INTO ${schema}.notes VALUES ($1)`, [body]);
          if (fail) throw new Error('fails');
        });
      await write('kept', false);
      await expect(write('gone', true)).rejects.toThrow('fails');
      expect(await pool.query(`SELECT body FROM ${schema}.notes`)).toEqual([{ body: 'kept' }]);
      await pool.close();
      await drop();
    });

    it('passes a role on to the next client of PgBouncer, as the guide says', async () => {
      const pool = open(pgbouncer.url);
      await pool.query('SET ROLE pg_monitor');
      expect(await pool.query("SELECT current_setting('role') AS role")).toEqual([{ role: 'pg_monitor' }]);
    });
  });

  // postgres.js drops what PgBouncer says before it closes the connection.
  it.skipIf(name === 'fromPostgresJs')('refuses statement mode, and says what to set', async () => {
    const pgbouncer = await startPgBouncer('pool_mode = statement');
    onTestFinished(() => pgbouncer.stop());
    const app = new Container();
    const pool = open(pgbouncer.url);
    app.register('IDatabasePool', () => pool);
    const refused = {
      code: 'AMBIT_TX_UNSUPPORTED',
      message: expect.stringContaining('set pool_mode') as string,
      status: 500,
    };
    await expect(runInTransaction(app, async () => {})).rejects.toMatchObject(refused);
    await pool.close();
  });
});
