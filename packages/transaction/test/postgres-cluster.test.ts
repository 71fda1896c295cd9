import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type IDatabasePool, isTemporary, runInTransaction } from '../src/index.js';
import { beginTransaction } from '../src/host.js';
import { createPostgresPool, type PostgresPoolOptions } from '../src/postgres/index.js';

import { canStartServers, type FaultyProxy, openProxy, type Server, startServer } from '@ambit/test-kit';
import { requestScope } from './support/requests.js';

describe.skipIf(!canStartServers)('with servers of our own', () => {
  const pools: IDatabasePool[] = [];
  const poolOf = (options: PostgresPoolOptions): IDatabasePool => {
    const pool = createPostgresPool({ max: 2, closeTimeoutMs: 100, ...options });
    pools.push(pool);
    return pool;
  };
  afterEach(async () => void (await Promise.all(pools.splice(0).map((pool) => pool.close()))));

  describe('while no synchronous standby confirms a commit', () => {
    let server: Server;
    let admin: Client;

    beforeAll(async () => {
      server = await startServer({ synchronous_standby_names: 'nobody' });
      admin = new Client({ connectionString: server.url });
      await admin.connect();
      await admin.query('SET synchronous_commit = local');
      await admin.query('CREATE TABLE users (id int PRIMARY KEY)');
    });
    afterAll(async () => {
      await admin.end();
      server.stop();
    });

    /** Cancels whatever waits for a standby, as an administrator would. */
    const cancelWaiting = async (): Promise<void> => {
      const sql = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      while ((await admin.query(sql)).rowCount === 0);
    };

    const CANCELS = [
      ['the query limit', { queryTimeoutMs: 50 }],
      ['somebody else', {}],
    ] as const;
    test.each(CANCELS)('a statement that %s cancelled has an unknown outcome', async (who, options) => {
      const pool = poolOf({ connectionString: server.url, ...options });
      const insert = pool.query('INSERT INTO users VALUES ($1)', [who === 'somebody else' ? 2 : 1]);
      insert.catch(() => undefined);
      if (who === 'somebody else') await cancelWaiting();
      await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN', unavailable: true });
      if (who !== 'somebody else') expect(pool.size).toMatchObject({ open: 0 });
    });

    test.each(CANCELS)('so has a COMMIT that was cancelled by %s', async (who, options) => {
      const request = requestScope(poolOf({ connectionString: server.url, ...options }));
      const transaction = await beginTransaction(request);
      await transaction.connection.query('INSERT INTO users VALUES ($1)', [who === 'somebody else' ? 4 : 5]);
      const committed = transaction.commit();
      committed.catch(() => undefined);
      if (who === 'somebody else') await cancelWaiting();
      await expect(committed).rejects.toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN', unavailable: true });
      expect(transaction.state).toBe('unknown');
    });

    test('the next transaction on the connection is not held responsible', async () => {
      const pool = poolOf({ connectionString: server.url, max: 1 });
      const insert = pool.query('INSERT INTO users VALUES ($1)', [6]);
      insert.catch(() => undefined);
      await cancelWaiting();
      await expect(insert).rejects.toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
      await expect(pool.query('SELECT 1 AS one')).resolves.toEqual([{ one: 1 }]);
    });
  });

  describe('a primary and its standby', () => {
    let primary: Server;
    let standby: Server;
    /** One address that leads to one of the two, as that of a load balancer. */
    let balancer: FaultyProxy;
    const target = { host: '127.0.0.1', port: 0 };

    beforeAll(async () => {
      primary = await startServer();
      const admin = new Client({ connectionString: primary.url });
      await admin.connect();
      await admin.query('CREATE TABLE orders (id int PRIMARY KEY)');
      await admin.end();
      standby = await primary.standby();
      balancer = await openProxy(target);
    });
    afterAll(async () => {
      await balancer.close();
      standby.stop();
      primary.stop();
    });

    const balanced = (): string => `postgres://postgres@127.0.0.1:${balancer.port}/postgres`;
    const both = (...servers: Server[]): string =>
      `postgres://postgres@${servers.map(({ port }) => `127.0.0.1:${port}`).join()}/postgres`;
    const portOf = async (pool: IDatabasePool): Promise<number> => {
      const [row] = await pool.query<{ port: string }>("SELECT current_setting('port') AS port");
      return Number(row?.port);
    };

    test('led to the standby, a pool hands out no connection, and recovers at once when led to the primary', async () => {
      const pool = poolOf({ connectionString: balanced() });
      target.port = standby.port;
      const refused = await pool.query('INSERT INTO orders VALUES (1)').catch((error: unknown) => error);
      expect(refused).toMatchObject({ code: 'AMBIT_TX_READ_ONLY', sqlState: '25006', status: 503 });
      expect(isTemporary(refused)).toBe(true);
      expect(pool.size).toMatchObject({ open: 0 });
      target.port = primary.port;
      await pool.query('INSERT INTO orders VALUES (1)');
      expect(pool.size).toMatchObject({ open: 1 });
    });

    test('a caller that asks for a read-only transaction may have the standby, and leaves it to nobody else', async () => {
      const pool = poolOf({ connectionString: balanced(), max: 1 });
      target.port = standby.port;
      const count = await runInTransaction(
        requestScope(pool),
        async (scope) => {
          const connection = scope.resolve<{ query(sql: string): Promise<unknown[]> }>('IConnection');
          return connection.query('SELECT count(*) AS n FROM orders');
        },
        { readOnly: true },
      );
      expect(count).toHaveLength(1);
      target.port = primary.port;
      await expect(pool.query('DELETE FROM orders')).resolves.toEqual([]);
    });

    test('of several hosts the one that takes writes is found, whatever the order', async () => {
      for (const connectionString of [both(primary, standby), both(standby, primary)]) {
        expect(await portOf(poolOf({ connectionString }))).toBe(primary.port);
      }
      const absent = 'postgres://postgres@127.0.0.1:1,127.0.0.1';
      expect(await portOf(poolOf({ connectionString: `${absent}:${primary.port}/postgres` }))).toBe(primary.port);
    });

    test.each([
      ['any', () => standby],
      ['read-write', () => primary],
      ['primary', () => primary],
      ['standby', () => standby],
      ['read-only', () => standby],
      ['prefer-standby', () => standby],
    ] as const)('target_session_attrs=%s is what libpq means by it', async (attrs, expected) => {
      const url = `${both(standby, primary)}?target_session_attrs=${attrs}`;
      expect(await portOf(poolOf({ connectionString: url }))).toBe(expected().port);
      if (attrs !== 'any') {
        const turned = `${both(primary, standby)}?target_session_attrs=${attrs}`;
        expect(await portOf(poolOf({ connectionString: turned }))).toBe(expected().port);
      }
    });

    test('prefer-standby takes the primary where there is no standby, standby refuses it', async () => {
      const options = { connectionString: primary.url };
      expect(await portOf(poolOf({ ...options, targetSessionAttrs: 'prefer-standby' }))).toBe(primary.port);
      const refused = poolOf({ ...options, targetSessionAttrs: 'standby' }).query('SELECT 1');
      await expect(refused).rejects.toMatchObject({ code: 'AMBIT_TX_ACQUIRE_FAILED', unavailable: true });
    });

    /** Stopped after its test, whatever becomes of that. */
    const others: Server[] = [];
    const anotherStandby = async (): Promise<Server> => {
      const other = await primary.standby();
      others.push(other);
      return other;
    };
    afterEach(() => {
      for (const other of others.splice(0)) {
        other.thaw();
        other.stop();
      }
    });

    test('a server that hangs is abandoned while statements run on it, and the next host is used', async () => {
      const other = await anotherStandby();
      const pool = poolOf({
        connectionString: `${both(other, primary)}?target_session_attrs=any`,
        acquireTimeoutMs: 60_000,
        silentAfterMs: 200,
        connectTimeoutMs: 5000,
      });
      const connections = [await pool.getConnection(), await pool.getConnection()];
      const slow = connections.map((connection) => connection.query('SELECT pg_sleep(100)'));
      other.freeze();
      const lost = { status: 'rejected', reason: expect.objectContaining({ code: 'AMBIT_TX_CONNECTION_LOST' }) };
      const frozenAt = performance.now();
      expect(await Promise.allSettled(slow)).toMatchObject([lost, lost]);
      connections.forEach((connection) => connection.release());
      expect(await portOf(pool)).toBe(primary.port);
      expect(performance.now() - frozenAt).toBeLessThan(60_000);
    });

    test('a statement that takes long on a server that works is left alone', async () => {
      const pool = poolOf({ connectionString: primary.url, silentAfterMs: 300 });
      await expect(pool.query('SELECT pg_sleep(1)')).resolves.toHaveLength(1);
    });

    test('a standby that is promoted takes writes', async () => {
      const other = await anotherStandby();
      const pool = poolOf({ connectionString: other.url });
      await expect(pool.query('DELETE FROM orders')).rejects.toMatchObject({ code: 'AMBIT_TX_READ_ONLY' });
      await other.promote();
      await expect(pool.query('DELETE FROM orders')).resolves.toEqual([]);
    });
  });
});
