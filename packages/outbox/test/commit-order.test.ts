import { setTimeout as pause } from 'node:timers/promises';
import { Container } from '@ambit/container';
import { hasPostgres } from '@ambit/host-contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IConnection, type IDatabasePool, type IPooledConnection, runInTransaction } from '@ambit/transaction';
import { createOutbox, type Outbox, type Relay } from '../src/index.js';
import { SimulatedClock } from '@ambit/transaction/testing';
import { type OpenDatabase, openDatabase } from './support/databases.js';
import { Receiver } from './support/receiver.js';

describe.skipIf(!hasPostgres)('on PostgreSQL, where transactions commit in another order than they write', () => {
  let database: OpenDatabase;
  let pool: IDatabasePool;
  let outbox: Outbox;
  let relay: Relay | undefined;
  let receiver: Receiver;

  beforeEach(async () => {
    database = await openDatabase('postgres', { writers: 12 });
    pool = database.pool;
    outbox = createOutbox(pool, { dialect: 'postgres' });
    await outbox.createTable();
    receiver = new Receiver();
    relay = outbox.relay(receiver.deliver, { pollMs: 10, gatherMs: 0 });
    relay.start();
  });
  afterEach(async () => {
    await relay?.dispose();
    await database.drop();
  });

  const begin = async (): Promise<IPooledConnection> => {
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    return connection;
  };
  const commit = async (connection: IPooledConnection): Promise<void> => {
    await connection.commit();
    connection.release();
  };
  const publish = (connection: Pick<IConnection, 'query'>, key: string, payload: unknown): Promise<string> =>
    outbox.publish(connection, { topic: 'noted', key, payload });

  test('the second to publish with a key waits until the first has committed', async () => {
    const [first, second] = [await begin(), await begin()];
    await publish(first, 'a', 1);
    let published = false;
    const waiting = publish(second, 'a', 2).then(() => (published = true));
    await pause(50);
    expect(published).toBe(false);
    await commit(first);
    await waiting;
    await commit(second);
    await receiver.hasTaken(2);
    expect(receiver.payloads).toEqual([1, 2]);
  });

  test('a transaction that stays open holds back no other key', async () => {
    const open = await begin();
    await publish(open, 'a', 'late');
    const other = await begin();
    await publish(other, 'b', 'early');
    await commit(other);
    await receiver.hasTaken(1);
    await commit(open);
    await receiver.hasTaken(2);
    expect(receiver.payloads).toEqual(['early', 'late']);
  });

  test('a transaction that stays open holds back no other key whose short hash is the same', async () => {
    const sameHash = await pool.query<{ key: string }>(
      `SELECT 'key ' || i AS key FROM generate_series(1, 100000) AS i
       WHERE hashtext('key ' || i) & 4095 = hashtext('a') & 4095 ORDER BY i LIMIT 10`,
    );
    expect(sameHash).toHaveLength(10);
    const open = await begin();
    await publish(open, 'a', 'late');
    const other = await begin();
    await other.query("SET LOCAL lock_timeout = '500ms'");
    for (const { key } of sameHash) await publish(other, key, key);
    await commit(other);
    await receiver.hasTaken(10);
    expect(receiver.payloads).not.toContain('late');
    await commit(open);
  });

  test('each key has the order of COMMIT, whenever in a transaction its event is published', async () => {
    await pool.query('CREATE TABLE counters (key text PRIMARY KEY, n int)');
    await pool.query("INSERT INTO counters SELECT 'key ' || i, 0 FROM generate_series(0, 2) AS i");
    const app = new Container();
    app.register('IDatabasePool', () => pool);
    // The number that the row has at COMMIT is written after the event is published, as late as possible.
    const { random } = new SimulatedClock();
    const work = async (n: number): Promise<void> => {
      const key = `key ${n % 3}`;
      const mark = `${n}`;
      await runInTransaction(
        app,
        async (scope) => {
          const connection = scope.resolve<IConnection>('IConnection');
          await publish(connection, key, mark);
          await pause(4 * random());
          await connection.query('UPDATE counters SET n = n + 1 WHERE key = $1', [key]);
          await connection.query(`INSERT INTO commits SELECT $1, n, $2 FROM counters WHERE key = $2`, [mark, key]);
        },
        { retries: 10 },
      );
    };
    await pool.query('CREATE TABLE commits (mark text, n int, key text)');
    await Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        for (let n = 0; n < 25; n++) await work(worker * 25 + n);
      }),
    );
    await receiver.hasTaken(200);
    for (const key of ['key 0', 'key 1', 'key 2']) {
      const commits = await pool.query<{ mark: string }>('SELECT mark FROM commits WHERE key = $1 ORDER BY n', [key]);
      expect(receiver.payloadsOf(key)).toEqual(commits.map(({ mark }) => mark));
    }
  });
});
