import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { canStartServers, type FaultyProxy, openProxy, type Server, startServer } from '@ambit/test-kit';
import { type IConnection, type IDatabasePool, runInTransaction } from '../src/index.js';
import { executeOn } from '../src/extension.js';
import { beginTransaction } from '../src/host.js';
import { createPostgresPool, type PostgresPoolOptions } from '../src/postgres/index.js';
import { createReplicatedPool, type ReplicatedPool, type ReplicatedPoolOptions } from '../src/replicas/index.js';
import { FakePool } from '../src/testing/index.js';

import { requestScope } from './support/requests.js';

describe.skipIf(!canStartServers)('a primary and its standby', () => {
  let primary: Server;
  let standby: Server;
  let onPrimary: Client;
  let onStandby: Client;
  /** In front of each of the two. */
  let toPrimary: FaultyProxy;
  let toStandby: FaultyProxy;
  const standbyAddress = { host: '127.0.0.1', port: 0 };
  const pools: IDatabasePool[] = [];

  beforeAll(async () => {
    // Whatever a busy machine does to the standby's receiver, what it has yet to receive is still there.
    primary = await startServer({ max_standby_streaming_delay: '0', wal_keep_size: '256MB' });
    onPrimary = new Client({ connectionString: primary.url, options: '-c lock_timeout=10s' });
    await onPrimary.connect();
    await onPrimary.query('CREATE TABLE orders (id serial PRIMARY KEY, name text)');
    standby = await primary.standby();
    onStandby = new Client({ connectionString: standby.url });
    await onStandby.connect();
    toPrimary = await openProxy({ host: '127.0.0.1', port: primary.port });
    standbyAddress.port = standby.port;
    toStandby = await openProxy(standbyAddress);
  });
  afterAll(async () => {
    await Promise.all([onPrimary.end(), onStandby.end(), toPrimary.close(), toStandby.close()]);
    standby.stop();
    primary.stop();
  });
  beforeEach(async () => {
    await onPrimary.query('TRUNCATE orders');
    await catchUp();
  });
  afterEach(async () => {
    standbyAddress.port = standby.port;
    toStandby.faultAt = toPrimary.faultAt = () => 'none';
    await onStandby.query('SELECT pg_wal_replay_resume()');
    await Promise.all(pools.splice(0).map((pool) => pool.close()));
  });

  const poolAt = (port: number, options: PostgresPoolOptions = {}): IDatabasePool =>
    createPostgresPool({
      connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
      max: 4,
      closeTimeoutMs: 100,
      ...options,
    });
  const replicated = (options: Partial<ReplicatedPoolOptions> = {}): ReplicatedPool => {
    const pool = createReplicatedPool({
      primary: poolAt(toPrimary.port),
      replicas: [poolAt(toStandby.port, { targetSessionAttrs: 'prefer-standby' })],
      checkEveryMs: 10,
      retryEveryMs: 10,
      // Only servers that a test makes silent take so long.
      replicaTimeoutMs: 60_000,
      ...options,
    });
    pools.push(pool);
    return pool;
  };

  /** The other one is stopped after the test. */
  const twoReplicas = async (): Promise<IDatabasePool[]> => {
    const second = await primary.standby();
    onTestFinished(async () => {
      await Promise.all(pools.splice(0).map((pool) => pool.close()));
      second.stop();
    });
    return [toStandby.port, second.port].map((port) => poolAt(port, { targetSessionAttrs: 'prefer-standby' }));
  };

  /** The standby has replayed all that the primary has. */
  async function catchUp(): Promise<void> {
    const { rows } = await onPrimary.query('SELECT pg_current_wal_insert_lsn() AS lsn');
    const isThere = 'SELECT pg_last_wal_replay_lsn() >= $1 AS there';
    const deadline = Date.now() + 60_000;
    while ((await onStandby.query(isThere, [rows[0].lsn])).rows[0].there !== true)
      if (Date.now() > deadline) throw new Error(`the standby stands still: ${JSON.stringify(await positions())}`);
  }
  async function positions(): Promise<unknown[]> {
    const sent = await onPrimary.query('SELECT state, sent_lsn, replay_lsn FROM pg_stat_replication');
    const replayed = await onStandby.query(
      'SELECT pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn(), pg_get_wal_replay_pause_state()',
    );
    return [...sent.rows, ...replayed.rows];
  }
  /** From now on the standby falls behind. */
  async function pauseReplay(): Promise<void> {
    await onStandby.query('SELECT pg_wal_replay_pause()');
    const state = 'SELECT pg_get_wal_replay_pause_state() AS state';
    while ((await onStandby.query(state)).rows[0].state !== 'paused');
  }
  const IS_STANDBY = 'SELECT pg_is_in_recovery() AS standby';
  /** Which of the two a read comes from. */
  const readsFrom = async (pool: IDatabasePool): Promise<string> => {
    const [row] = await pool.query<{ standby: boolean }>(IS_STANDBY, [], { readOnly: true });
    return row?.standby ? 'standby' : 'primary';
  };
  const transactionReadsFrom = (pool: IDatabasePool, options: object = { readOnly: true }): Promise<string> =>
    runInTransaction(
      requestScope(pool),
      async (scope) => {
        const [row] = await scope.resolve<IConnection>('IConnection').query<{ standby: boolean }>(IS_STANDBY);
        return row?.standby ? 'standby' : 'primary';
      },
      options,
    );
  const becomes = async (read: () => Promise<string>, from: string): Promise<void> => {
    const deadline = Date.now() + 60_000;
    while ((await read()) !== from) if (Date.now() > deadline) throw new Error(`no read came from the ${from}`);
  };
  const order = (pool: IDatabasePool, name: string): Promise<void> =>
    runInTransaction(requestScope(pool), async (scope) => {
      await scope.resolve<IConnection>('IConnection').query('INSERT INTO orders (name) VALUES ($1)', [name]);
    });
  const names = async (pool: IDatabasePool): Promise<unknown[]> => {
    const rows = await pool.query('SELECT name FROM orders ORDER BY id', [], { readOnly: true });
    return rows.map(({ name }) => name);
  };

  test('reads come from the standby, and writes go to the primary', async () => {
    const pool = replicated();
    expect(await readsFrom(pool.session())).toBe('standby');
    expect(await transactionReadsFrom(pool.session())).toBe('standby');
    expect(await transactionReadsFrom(pool.session(), {})).toBe('primary');
    const [row] = await pool.session().query(IS_STANDBY);
    expect(row).toEqual({ standby: false });
    const arrays = pool.session().execute(IS_STANDBY, [], { readOnly: true, rowMode: 'array' });
    await expect(arrays).resolves.toMatchObject({ rows: [[true]], rowCount: 1 });
  });

  test('a serializable read goes to the primary: a standby has none', async () => {
    const serializable = { readOnly: true, isolation: 'serializable' };
    expect(await transactionReadsFrom(replicated().session(), serializable)).toBe('primary');
  });

  describe('that is behind', () => {
    beforeEach(pauseReplay);

    test.each([
      ['a transaction', (pool: IDatabasePool) => order(pool, 'tea')],
      ['a statement', (pool: IDatabasePool) => pool.query("INSERT INTO orders (name) VALUES ('tea')")],
      [
        'a statement with its count',
        (pool: IDatabasePool) => executeOn(pool, "INSERT INTO orders (name) VALUES ('tea')"),
      ],
      [
        'a statement on a connection',
        async (pool: IDatabasePool) => {
          const connection = await pool.getConnection();
          await connection.query("INSERT INTO orders (name) VALUES ('tea')");
          connection.release();
        },
      ],
    ])('a session reads what %s of it wrote, and others read what is old', async (_what, write) => {
      const pool = replicated();
      const session = pool.session();
      await write(session);
      expect(await names(session)).toEqual(['tea']);
      expect(await transactionReadsFrom(session)).toBe('primary');
      expect(await names(pool.session())).toEqual([]);
      expect(await readsFrom(pool.session())).toBe('standby');
    });

    test('a token takes the session to another instance', async () => {
      const session = replicated().session();
      expect(session.token).toBeUndefined();
      await order(session, 'tea');
      expect(session.token).toMatch(/^[0-9A-F]+\/[0-9A-F]+$/);
      const other = replicated();
      expect(await names(other.session(session.token))).toEqual(['tea']);
      expect(await names(other.session())).toEqual([]);
      expect(other.session(session.token).token).toBe(session.token);
    });

    test.each([[''], ['nonsense'], ['0/'], ['FFFFFFFFF/0'], [['1/2', '3/4']], [null]])(
      'the token %o of a client is none',
      async (token) => {
        const session = replicated().session(token);
        expect(session.token).toBeUndefined();
        expect(await readsFrom(session)).toBe('standby');
      },
    );

    test('the pool itself is one session for the whole process', async () => {
      const pool = replicated();
      await order(pool, 'tea');
      expect(await names(pool)).toEqual(['tea']);
    });

    test('a transaction that only read, or was rolled back, keeps nobody from the standby', async () => {
      const session = replicated().session();
      await transactionReadsFrom(session, { readOnly: true, isolation: 'serializable' });
      const transaction = await beginTransaction(requestScope(session));
      await transaction.connection.query("INSERT INTO orders (name) VALUES ('tea')");
      await transaction.rollback();
      const refused = session.query('INSERT INTO nowhere VALUES (1)');
      await expect(refused).rejects.toMatchObject({ sqlState: '42P01' });
      expect(session.token).toBeUndefined();
      expect(await readsFrom(session)).toBe('standby');
    });

    test('the session returns to the standby that has caught up', async () => {
      const session = replicated().session();
      await order(session, 'tea');
      expect(await readsFrom(session)).toBe('primary');
      await onStandby.query('SELECT pg_wal_replay_resume()');
      await becomes(() => readsFrom(session), 'standby');
      expect(await names(session)).toEqual(['tea']);
    });

    test('of two standbys, the one that has caught up serves the session', async () => {
      const pool = replicated({ replicas: await twoReplicas() });
      const session = pool.session();
      await order(session, 'tea');
      await becomes(() => readsFrom(session), 'standby');
      for (let read = 0; read < 10; read += 1) expect(await names(session)).toEqual(['tea']);
      const seen = new Set<number>();
      for (let read = 0; read < 10; read += 1) seen.add((await names(pool.session())).length);
      expect(seen).toEqual(new Set([0, 1]));
    });

    test('a write whose position is unknown keeps the session at the primary, until one is known', async () => {
      const pool = replicated();
      const session = pool.session();
      toPrimary.faultAt = (message) => (message.includes('pg_current_wal_insert_lsn') ? 'before' : 'none');
      await order(session, 'tea');
      expect(session.token).toBe('FFFFFFFF/FFFFFFFF');
      expect(await names(session)).toEqual(['tea']);
      toPrimary.faultAt = () => 'none';
      expect(await names(replicated().session(session.token))).toEqual(['tea']);
      await order(session, 'milk');
      expect(session.token).not.toBe('FFFFFFFF/FFFFFFFF');
      expect(await names(session)).toEqual(['tea', 'milk']);
      await onStandby.query('SELECT pg_wal_replay_resume()');
      await becomes(() => readsFrom(session), 'standby');
    });

    test('so does a COMMIT that got no response', async () => {
      const session = replicated().session();
      toPrimary.faultAt = (message) => (message.includes('COMMIT') ? 'after' : 'none');
      await expect(order(session, 'tea')).rejects.toMatchObject({ code: 'AMBIT_TX_OUTCOME_UNKNOWN' });
      toPrimary.faultAt = () => 'none';
      await becomes(async () => String((await names(session)).length), '1');
    });

    test('the lag limit leaves it out, and lets it back in', async () => {
      const limited = replicated({ maxLagMs: 200 });
      // Nothing is written, so it lacks nothing.
      await becomes(() => readsFrom(limited.session()), 'standby');
      await order(limited.session(), 'tea');
      await becomes(() => readsFrom(limited.session()), 'primary');
      expect(await names(limited.session())).toEqual(['tea']);
      await onStandby.query('SELECT pg_wal_replay_resume()');
      await becomes(() => readsFrom(limited.session()), 'standby');
    });

    test('after a pause, the first read within the lag limit is no older than the limit', async () => {
      const limited = replicated({ maxLagMs: 50 });
      await becomes(() => readsFrom(limited.session()), 'standby');
      await onPrimary.query("INSERT INTO orders (name) VALUES ('tea')");
      await onPrimary.query('SELECT pg_sleep(0.1)');
      expect(await names(limited.session())).toEqual(['tea']);
    });
  });

  test('a standby whose address is dead is left out, and comes back', async () => {
    const pool = replicated();
    expect(await readsFrom(pool.session())).toBe('standby');
    standbyAddress.port = 1;
    toStandby.faultAt = () => 'before';
    for (let read = 0; read < 10; read += 1) expect(await readsFrom(pool.session())).toBe('primary');
    expect(await transactionReadsFrom(pool.session())).toBe('primary');
    standbyAddress.port = standby.port;
    toStandby.faultAt = () => 'none';
    await becomes(() => readsFrom(pool.session()), 'standby');
  });

  test('a standby that accepts connections and responds to none is left out, and comes back', async () => {
    const pool = replicated({ replicaTimeoutMs: 1000 });
    const session = pool.session();
    await order(session, 'tea');
    await becomes(() => readsFrom(session), 'standby');
    toStandby.faultAt = () => 'swallowed';
    // One that is not known to be silent is asked by the first who needs to know how far it is.
    await becomes(() => readsFrom(session), 'primary');
    const start = performance.now();
    for (let read = 0; read < 20; read += 1) expect(await readsFrom(pool.session())).toBe('primary');
    // Each would wait a second, if it asked.
    expect(performance.now() - start).toBeLessThan(15_000);
    toStandby.faultAt = () => 'none';
    await becomes(() => readsFrom(session), 'standby');
  });

  test('a server that is no standby serves no reads: nobody knows what it follows', async () => {
    const pool = replicated({ replicas: [poolAt(primary.port, { targetSessionAttrs: 'any' })] });
    await becomes(() => readsFrom(pool.session()), 'primary');
    for (let read = 0; read < 10; read += 1) expect(await readsFrom(pool.session())).toBe('primary');
  });

  test('a read that the standby cancels because of what it replays is done by the primary', async () => {
    const pool = replicated();
    await onPrimary.query("INSERT INTO orders (name) VALUES ('tea')");
    await catchUp();
    const sleepOfStandby = 'pg_sleep(CASE WHEN pg_is_in_recovery() THEN 100 ELSE 0 END)';
    const slow = pool
      .session()
      .query(`SELECT pg_is_in_recovery() AS standby, count(*)::int AS orders FROM orders, ${sleepOfStandby}`, [], {
        readOnly: true,
      });
    const isReading = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(CASE%' AND wait_event = 'PgSleep'";
    while ((await onStandby.query(isReading)).rowCount === 0);
    await onPrimary.query('ALTER TABLE orders ADD COLUMN note text');
    await onPrimary.query('ALTER TABLE orders DROP COLUMN note');
    await expect(slow).resolves.toEqual([{ standby: false, orders: 1 }]);
  });

  test('a read that is wrong fails once, and no replica is left out for it', async () => {
    const pool = replicated();
    const wrong = pool.session().query('SELECT nothing', [], { readOnly: true });
    await expect(wrong).rejects.toMatchObject({ sqlState: '42703' });
    const write = pool.session().query("INSERT INTO orders (name) VALUES ('tea')", [], { readOnly: true });
    await expect(write).rejects.toMatchObject({ code: 'AMBIT_TX_STATEMENT_FAILED', sqlState: '25006' });
    expect(await readsFrom(pool.session())).toBe('standby');
  });

  test('a caller that leaves while it waits for a connection to the standby goes to no other server', async () => {
    const replica = poolAt(toStandby.port, { max: 1, targetSessionAttrs: 'prefer-standby' });
    const pool = replicated({ replicas: [replica], checkEveryMs: Infinity });
    expect(await readsFrom(pool.session())).toBe('standby');
    const held = await replica.getConnection();
    const controller = new AbortController();
    const waiting = pool.session().getConnection({ readOnly: true, signal: controller.signal });
    const began = beginTransaction(requestScope(pool.session()), { readOnly: true, signal: controller.signal });
    while (replica.size?.waiting !== 2) await new Promise(setImmediate);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    await expect(began).rejects.toMatchObject({ code: 'AMBIT_TX_ABORTED' });
    held.release();
    expect(await readsFrom(pool.session())).toBe('standby');
  });

  test('a replica without a free connection is left out, and the read goes on', async () => {
    const replica = poolAt(toStandby.port, { max: 1, targetSessionAttrs: 'prefer-standby' });
    const pool = replicated({ replicas: [replica], replicaTimeoutMs: 500 });
    const held = await replica.getConnection();
    expect(await readsFrom(pool.session())).toBe('primary');
    held.release();
    await becomes(() => readsFrom(pool.session()), 'standby');
  });

  test('afterBegin of the primary is part of every BEGIN, also of those on the standby', async () => {
    const afterBegin = (connection: IConnection): Promise<unknown> =>
      connection.query("SELECT set_config('app.tenant', 'acme', true)");
    const pool = replicated({ primary: poolAt(toPrimary.port, { afterBegin }) });
    const seen = await runInTransaction(
      requestScope(pool.session()),
      (scope) =>
        scope
          .resolve<IConnection>('IConnection')
          .query("SELECT pg_is_in_recovery() AS standby, current_setting('app.tenant') AS tenant"),
      { readOnly: true },
    );
    expect(seen).toEqual([{ standby: true, tenant: 'acme' }]);
  });

  test('a storm of writes and reads leaves no connection checked out, and every session reads its own', async () => {
    const pool = replicated();
    await Promise.all(
      Array.from({ length: 60 }, async (_, user) => {
        const session = pool.session();
        for (let round = 0; round < 3; round += 1) {
          await order(session, `${user}`);
          const own = (await names(session)).filter((name) => name === `${user}`);
          expect(own).toHaveLength(round + 1);
        }
      }),
    );
    expect(pool.size).toMatchObject({ waiting: 0, idle: pool.size.open });
  });

  describe('while the primary is away, with staleReads', () => {
    const readsOn = (options: Partial<ReplicatedPoolOptions> = {}): ReplicatedPool =>
      replicated({ staleReads: true, ...options });
    const leave = (): void => void (toPrimary.faultAt = () => 'before');

    test.each(['primary', 'replica'] as const)(
      'reads come from the standby, and say so, with prefer: %s',
      async (prefer) => {
        const pool = readsOn({ prefer });
        const usual = prefer === 'primary' ? 'primary' : 'standby';
        expect(await readsFrom(pool.session())).toBe(usual);
        leave();
        const session = pool.session();
        await becomes(async () => {
          // A replica that is preferred serves reads as usual until somebody asks the primary.
          await pool
            .session()
            .query('SELECT 1')
            .catch(() => undefined);
          await readsFrom(session);
          return String(session.readsFrom);
        }, 'stale');
        expect(await readsFrom(session)).toBe('standby');
        expect(await transactionReadsFrom(pool.session())).toBe('standby');
        await expect(pool.session().query('SELECT 1')).rejects.toMatchObject({ unavailable: true });
        toPrimary.faultAt = () => 'none';
        await becomes(async () => {
          const again = pool.session();
          await readsFrom(again);
          return String(again.readsFrom);
        }, prefer);
        expect(pool.reads.stale).toBeGreaterThan(0);
      },
    );

    test("a standby that lacks the session's own write serves it only where no other has it", async () => {
      const pool = readsOn({ replicas: await twoReplicas() });
      await pauseReplay();
      const session = pool.session();
      await order(session, 'tea');
      await becomes(() => readsFrom(session), 'standby');
      leave();
      await becomes(async () => {
        const other = pool.session();
        await other.query('SELECT 1').catch(() => undefined);
        await readsFrom(other);
        return String(other.readsFrom);
      }, 'stale');
      for (let read = 0; read < 6; read += 1) expect(await names(pool.session(session.token))).toEqual(['tea']);
    });

    test('a session that may read nothing stale any more fails with the error of the primary', async () => {
      const pool = readsOn({ prefer: 'primary' });
      const session = pool.session();
      expect(await readsFrom(session)).toBe('primary');
      session.staleReads = false;
      leave();
      await expect(readsFrom(session)).rejects.toMatchObject({ unavailable: true });
      expect(await readsFrom(pool.session())).toBe('standby');
    });

    test('a read during which one connection is lost is done by the primary, which is there', async () => {
      const pool = readsOn({ prefer: 'primary' });
      let lost = 0;
      toPrimary.faultAt = (message) => (message.includes('pg_is_in_recovery') && (lost += 1) === 1 ? 'before' : 'none');
      const session = pool.session();
      expect(await readsFrom(session)).toBe('primary');
      expect([lost, session.readsFrom]).toEqual([2, 'primary']);
    });

    test('a primary that is only overloaded is not away', async () => {
      const pool = readsOn({ prefer: 'primary', primary: poolAt(toPrimary.port, { max: 1, acquireTimeoutMs: 3000 }) });
      await readsFrom(pool.session());
      const reads = Array.from({ length: 10 }, () =>
        pool.session().query('SELECT pg_sleep(1)', [], { readOnly: true }),
      );
      const failed = (await Promise.allSettled(reads)).filter(({ status }) => status === 'rejected');
      expect(failed.length).toBeGreaterThan(0);
      expect(failed[0]).toMatchObject({ reason: { code: 'AMBIT_TX_ACQUIRE_TIMEOUT' } });
      expect(pool.reads.stale).toBe(0);
    });

    test('a slow read is no reason to leave a primary that responds', async () => {
      const session = readsOn({ prefer: 'primary' }).session();
      const slow = 'SELECT pg_is_in_recovery() AS standby FROM pg_sleep(0.8)';
      expect(await session.query(slow, [], { readOnly: true })).toEqual([{ standby: false }]);
    });

    test('a read in progress does not wait for a primary that no longer responds', async () => {
      const limits = { acquireTimeoutMs: 60_000, connectTimeoutMs: 60_000, silentAfterMs: 60_000 };
      const preferred = poolAt(toPrimary.port, limits);
      const session = readsOn({ primary: preferred, prefer: 'primary', replicaTimeoutMs: 500 }).session();
      toPrimary.faultAt = () => 'swallowed';
      const start = performance.now();
      expect(await readsFrom(session)).toBe('standby');
      expect(session.readsFrom).toBe('stale');
      expect(performance.now() - start).toBeLessThan(30_000);
    });

    test('without it, reads that the standby may not serve fail', async () => {
      const pool = replicated({ prefer: 'primary' });
      leave();
      await expect(readsFrom(pool.session())).rejects.toMatchObject({ unavailable: true });
    });
  });

  test('with prefer: primary, nobody asks the primary how far it is', async () => {
    const pool = replicated({ prefer: 'primary' });
    const asked: string[] = [];
    toPrimary.faultAt = (message) => {
      if (message.includes('pg_current_wal')) asked.push(message);
      return 'none';
    };
    const session = pool.session();
    await order(session, 'tea');
    expect(await names(session)).toEqual(['tea']);
    expect([asked, session.token, session.readsFrom]).toEqual([[], undefined, 'primary']);
  });

  test('closing the pool closes those of all servers, once, and closing a session closes nothing', async () => {
    const pool = replicated();
    const session = pool.session();
    await session.close();
    expect(await readsFrom(session)).toBe('standby');
    await Promise.all([pool.close(), pool.close()]);
    await expect(readsFrom(session)).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
    await expect(session.query('SELECT 1')).rejects.toMatchObject({ code: 'AMBIT_TX_POOL_CLOSED' });
    expect(pool.size).toMatchObject({ open: 0, idle: 0, waiting: 0 });
  });
});

test('without replicas, the primary does it all, and nobody asks it how far it is', async () => {
  const primary = new FakePool();
  const pool = createReplicatedPool({ primary, replicas: [] });
  await pool.query('INSERT order');
  await pool.query('SELECT order', [], { readOnly: true });
  expect(primary.stored).toEqual(['INSERT order', 'SELECT order']);
  expect(pool.token).toBeUndefined();
});

test.each([
  [{}, 'primary must be a pool'],
  [{ primary: new FakePool() }, 'replicas must be a list'],
  [{ primary: new FakePool(), replicas: ['postgres://replica'] }, 'replicas[0] must be a pool'],
  [{ primary: new FakePool(), replicas: [], maxLagMs: '5s' }, 'maxLagMs must be a number'],
  [{ primary: new FakePool(), replicas: [], prefer: 'standby' }, 'prefer must be one of primary, replica'],
  [{ primary: new FakePool(), replicas: [], staleReads: 'yes' }, 'staleReads must be'],
])('the options %o are refused', (options, message) => {
  const create = (): unknown => createReplicatedPool(options as ReplicatedPoolOptions);
  expect(create).toThrow(expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringContaining(message) }));
});
