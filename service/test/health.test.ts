import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asPostgresAdmin, connectionLost } from '@ambit/test-kit';
import { TransactionError } from '@ambit/transaction';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Health } from '../src/health.js';
import { createLogger, readConfig, startService } from '../src/index.js';
import { openDatabaseOfServer, postgres } from './support/databases.js';
import { request, type Request } from './support/http.js';
import { onOneStage } from './support/stage.js';

const responds = async (): Promise<[]> => [];
const refusal = (sqlState: string): Error =>
  new TransactionError('AMBIT_TX_STATEMENT_FAILED', 'The statement failed', { sqlState });

onOneStage((stage) => {
  const health = (query: () => Promise<never[]> = responds): Health => {
    const replaced = new Health({ query }, stage.app.log.logger);
    stage.report(replaced);
    return replaced;
  };

  test('a database that is unavailable is logged once, and once more when it is available again', async () => {
    let down = true;
    health(() => (down ? Promise.reject(connectionLost()) : responds())).started();
    for (const isDown of [true, true, false, false]) {
      down = isDown;
      await stage.get('/health/ready');
    }
    await stage.app.quiet();
    const seen = stage.app.log.records.filter(({ level }) => level !== 20);
    expect(seen).toMatchObject([
      {
        level: 50,
        msg: 'not ready: no response from the database',
        fix: expect.stringContaining('DATABASE_URL'),
        err: { code: 'AMBIT_TX_CONNECTION_LOST' },
      },
      { level: 30, msg: 'ready again' },
    ]);
  });

  test('a read-only database is what the probe finds, not what a request met at another server', async () => {
    const running = health();
    running.started();
    running.requestFailed(refusal('25006'));
    expect((await stage.get('/health/ready')).status).toBe(200);
    running.requestFailed(refusal('53100'));
    expect((await stage.get('/health/ready')).status).toBe(503);
  });

  test('the log says each change, and what is wrong', async () => {
    let state: string | undefined;
    const probe = async (): Promise<never[]> => (state === undefined ? [] : Promise.reject(refusal(state)));
    const probed = new Health({ query: probe }, stage.app.log.logger);
    probed.started();
    for (state of ['25006', '25006', '53100', undefined]) await probed.readiness();
    await stage.app.quiet();
    expect(stage.app.log.records.map(({ msg }) => msg)).toEqual([
      'not ready: the database is read-only',
      'not ready: the disk of the database is full',
      'ready again',
    ]);
  });

  test('health checks do not fill the log', async () => {
    await stage.get('/health/live');
    const { level } = await stage.app.log.finds({ msg: 'request', path: '/health/live' });
    expect(level).toBe(20);
  });
});

describe('a database that does not respond', () => {
  afterEach(() => vi.useRealTimers());

  test('gets 2 seconds', async () => {
    vi.useFakeTimers();
    const health = new Health({ query: () => new Promise<never>(() => undefined) }, createLogger('silent'));
    health.started();
    const seen = vi.fn<(readiness: string) => void>();
    void health.readiness().then(seen);
    await vi.advanceTimersByTimeAsync(1999);
    expect(seen).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toHaveBeenCalledExactlyOnceWith('no response from the database');
  });
});

const USER = { name: 'Ada', email: 'ada@example.org' };

describe('whether writes can work', () => {
  afterEach(() => vi.useRealTimers());

  async function started(env: Readonly<Record<string, string>>) {
    const service = await startService(readConfig({ PORT: '0', LOG_LEVEL: 'silent', ...env }));
    const ask = (asked: Request) => request<{ error?: string }>(service.url, asked);
    return {
      pool: service.container.resolve('IDatabasePool'),
      ready: () => ask({ path: '/health/ready' }),
      list: () => ask({ path: '/api/users' }),
      create: () => ask({ method: 'POST', path: '/api/users', body: USER }),
      [Symbol.asyncDispose]: () => service.stop(),
    };
  }

  test('SQLite that has found a damaged page is not ready for 10 seconds', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ambit-damaged-'));
    await using service = await started({ DATA_DIR: folder });
    for (let n = 0; n < 40; n += 1) await service.create();
    const [table] = await service.pool.query<{ page: number }>(
      "SELECT rootpage AS page FROM sqlite_schema WHERE name = 'users'",
    );
    await service.pool.query('PRAGMA wal_checkpoint');
    // What SQLite has in memory it does not read again.
    await service.pool.query('PRAGMA shrink_memory');
    const file = openSync(join(folder, 'ambit.db'), 'r+');
    writeSync(file, Buffer.alloc(4096, 'noise'), 0, 4096, ((table?.page ?? 0) - 1) * 4096);
    closeSync(file);
    vi.useFakeTimers({ toFake: ['Date'] });
    expect((await service.list()).status).toBe(500);
    const states = [];
    for (const ms of [0, 9000, 1000]) {
      vi.advanceTimersByTime(ms);
      const { body, status } = await service.ready();
      states.push(body.error ?? status);
    }
    const damaged = 'Not ready: the database is damaged';
    expect(states).toEqual([damaged, damaged, 200]);
    rmSync(folder, { recursive: true });
  });

  test.skipIf(postgres.missing)('PostgreSQL that is read-only is not ready, and ready when it is not', async () => {
    await using database = await openDatabaseOfServer();
    await using service = await started(database.env);
    const states = async () => {
      const [ready, created] = [await service.ready(), await service.create()];
      return [ready.body.error ?? ready.status, created.status, created.headers.get('retry-after')];
    };
    for (const [setting, expected] of [
      ['on', ['Not ready: the database is read-only', 503, '1']],
      ['off', [200, 201, null]],
    ] as const) {
      await asPostgresAdmin(`ALTER DATABASE ${database.name} SET default_transaction_read_only = ${setting}`);
      await asPostgresAdmin(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database.name}'`,
      );
      // Until the pool has noticed that its connections are lost.
      await expect.poll(states).toEqual(expected);
    }
  });
});
