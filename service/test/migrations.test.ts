import { describe, expect, test } from 'vitest';
import type { IDatabasePool } from '@ambit/transaction';
import type { IEngine } from '../src/database/engine.js';
import { engineOf } from '../src/database/engines.js';
import { migrate } from '../src/database/migrate.js';
import { readConfig, startService } from '../src/index.js';
import { App } from './support/app.js';
import { databaseKinds, mariadb, postgres, sqlite } from './support/databases.js';
import { request } from './support/http.js';
import { ServiceProcess } from './support/service-process.js';

const ADA = { name: 'Ada', email: 'ada@example.org' };

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

describe.skipIf(mariadb.missing)('on MariaDB, where a new table completes the transaction', () => {
  test('ten instances that are started at once on a fresh database all serve it', async () => {
    await using database = await mariadb.open();
    const env = { ...database.env, DATABASE_POOL_SIZE: '2' };
    const apps = await Promise.all(Array.from({ length: 10 }, () => App.start('fastify', env)));
    for (const app of apps) expect((await app.request({ path: '/health/ready' })).status).toBe(200);
    await Promise.all(apps.map((app) => app.stop()));
  });

  test(
    'a start that is killed after any of its statements is completed by the next',
    { timeout: 300_000 },
    async () => {
      const whole = await resultOf((pool, engine) => migrate(pool, engine));
      const outcomes: string[] = [];
      while (outcomes.at(-1) !== 'completed') {
        const completed = await resultOf(async (pool, engine) => {
          const outcome = await migrate(killedAfter(pool, outcomes.length + 1), engine).then(
            () => 'completed',
            () => 'killed',
          );
          outcomes.push(outcome);
          await migrate(pool, engine);
        });
        expect(completed).toEqual(whole);
      }
      expect(outcomes.length).toBeGreaterThan(15);
    },
  );

  /** The tables, and the migrations that are recorded, in a fresh database. */
  async function resultOf(start: (pool: IDatabasePool, engine: IEngine) => Promise<void>): Promise<object[]> {
    await using database = await mariadb.open();
    const engine = engineOf(readConfig(database.env).database);
    await using pool = engine.createPool();
    await start(pool, engine);
    const tables = await pool.query('SHOW TABLES');
    const created = tables.map((row) => pool.query(`SHOW CREATE TABLE ${String(Object.values(row)[0])}`));
    return [...(await Promise.all(created)), await pool.query('SELECT name, checksum FROM migrations ORDER BY name')];
  }

  /** The pool of a process that is killed when the server has carried out so many of its statements. */
  function killedAfter(pool: IDatabasePool, statements: number): IDatabasePool {
    let count = 0;
    const kill = new Error('killed');
    const query = (on: Pick<IDatabasePool, 'query'>) => async (sql: string, params?: readonly unknown[]) => {
      count += 1;
      if (count > statements) throw kill;
      const rows = await on.query(sql, params);
      if (count === statements) throw kill;
      return rows;
    };
    const dying = <T extends Pick<IDatabasePool, 'query'>>(on: T): T =>
      new Proxy(on, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name, target);
          if (name === 'query') return query(target);
          if (name === 'getConnection') return async () => dying(await pool.getConnection());
          return typeof member === 'function' ? (member.bind(target) as unknown) : member;
        },
      });
    return dying(pool);
  }
});

describe.each(databaseKinds)('a database on $name', (kind) => {
  test.skipIf(kind.missing)('that has run another version of a migration is refused, of a package not', async () => {
    await using database = await kind.open();
    const older = await App.start('fastify', database.env);
    await older.pool.query(`UPDATE migrations SET checksum = 'another' WHERE name NOT LIKE '0001%'`);
    await older.stop();
    const app = await App.start('fastify', database.env);
    await app.pool.query(`UPDATE migrations SET checksum = 'another' WHERE name LIKE '0001%'`);
    await app.stop();
    await expect(startService(readConfig({ ...database.env, PORT: '0', LOG_LEVEL: 'silent' }))).rejects.toThrow(
      `The migration 0001-users-and-orders${kind === mariadb ? '.mariadb' : ''}.sql was changed after this database had run it. Undo the change, and add a new migration.`,
    );
  });
});

describe.each(databaseKinds)('a database of another program on $name', (kind) => {
  test.skipIf(kind.missing).each([
    ['a table users', 'CREATE TABLE users (a integer)', /"?users"? already exists|another program: users\./],
    [
      'a table that a later migration creates',
      `CREATE TABLE ${kind === mariadb ? 'outbox_turns' : 'outbox'} (a integer)`,
      /"?outbox"? already exists|another program: outbox_turns\./,
    ],
    ['migrations of its own', 'CREATE TABLE migrations (id integer)', /checksum/],
  ])('with %s is refused in one line, and is not changed', async (_, sql, reason) => {
    await using database = await kind.open();
    await using pool = engineOf(readConfig(database.env).database).createPool();
    await pool.query(sql);
    const { code, output } = await new ServiceProcess(database.env).exit;
    const [line = '', ...others] = output.trimEnd().split('\n');
    expect([code, others]).toEqual([1, []]);
    const { msg, err } = JSON.parse(line) as Record<string, unknown>;
    expect(err).toBeUndefined();
    expect(msg).toMatch(reason);
    expect(msg).toMatch(/only for the service|for the service alone|DATA_DIR name another folder/);
    await expect(pool.query('SELECT id FROM migration_lock')).rejects.toThrow();
    if (!sql.includes('migrations')) await expect(pool.query('SELECT name FROM migrations')).rejects.toThrow();
  });
});
