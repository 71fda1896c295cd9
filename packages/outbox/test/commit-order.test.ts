import { setTimeout as pause } from 'node:timers/promises';
import { Container } from '@ambit/container';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IConnection, type IDatabasePool, type IPooledConnection, runInTransaction } from '@ambit/transaction';
import { createOutbox, type Outbox, type Relay } from '../src/index.js';
import { SimulatedClock } from '@ambit/transaction/testing';
import { databases, type OpenDatabase } from './support/databases.js';
import { Receiver } from './support/receiver.js';

interface Several {
  /** Keys that share the last 12 bits of a hash with the key `a`. */
  readonly sameHash: string;
  /** Makes a statement fail that waits for a lock. */
  readonly soon: string;
}

/** The databases in which transactions commit in another order than they write. */
const SEVERAL: Readonly<Record<string, Several>> = {
  PostgreSQL: {
    sameHash: `SELECT 'key ' || i AS name FROM generate_series(1, 100000) AS i
      WHERE hashtext('key ' || i) & 4095 = hashtext('a') & 4095 ORDER BY i LIMIT 10`,
    soon: "SET LOCAL lock_timeout = '500ms'",
  },
  MariaDB: {
    sameHash: `SELECT CONCAT('key ', seq) AS name FROM seq_1_to_100000
      WHERE CRC32(CONCAT('key ', seq)) & 4095 = CRC32('a') & 4095 ORDER BY seq LIMIT 10`,
    soon: 'SET innodb_lock_wait_timeout = 1',
  },
};

const several = databases.flatMap((kind) => {
  const sql = SEVERAL[kind.name];
  return sql ? [{ ...kind, ...sql }] : [];
});

describe.each(several)('several writers on $name', ({ dialect, missing, open, sameHash, soon }) => {
  describe.skipIf(missing)('order the events of a key', () => {
    let database: OpenDatabase;
    let pool: IDatabasePool;
    let outbox: Outbox;
    let relay: Relay | undefined;
    let receiver: Receiver;

    beforeEach(async () => {
      database = await open({ writers: 12 });
      pool = database.pool;
      outbox = createOutbox(pool, { dialect });
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
      await connection.beginTransaction({ isolation: 'read committed' });
      return connection;
    };
    const commit = async (connection: IPooledConnection): Promise<void> => {
      await connection.commit();
      connection.release();
    };
    const publish = (connection: Pick<IConnection, 'query'>, key: string, payload: unknown): Promise<string> =>
      outbox.publish(connection, { topic: 'noted', key, payload });

    test.each(['in a transaction', 'by itself'])(
      'the second to publish %s waits until the first has committed',
      async (how) => {
        const first = await begin();
        const second = how === 'by itself' ? undefined : await begin();
        await publish(first, 'a', 1);
        let published = false;
        const waiting = publish(second ?? pool, 'a', 2).then(() => (published = true));
        await pause(250);
        expect(published).toBe(false);
        await commit(first);
        await waiting;
        if (second) await commit(second);
        await receiver.hasTaken(2);
        expect(receiver.payloads).toEqual([1, 2]);
      },
    );

    test('a transaction that stays open holds back no other key, also where a short hash is the same', async () => {
      const strangers = await pool.query<{ name: string }>(sameHash);
      expect(strangers).toHaveLength(10);
      const names = ['b', ...strangers.map(({ name }) => name)];
      const late = await begin();
      await publish(late, 'a', 'late');
      const other = await begin();
      await other.query(soon);
      for (const name of names) await publish(other, name, name);
      await commit(other);
      await receiver.hasTaken(11);
      expect(receiver.payloads).not.toContain('late');
      await commit(late);
      await receiver.hasTaken(12);
      expect(receiver.payloads.at(-1)).toBe('late');
    });

    test('a publisher whose connection is closed lets the next one in, and its event is not delivered', async () => {
      const [first, second] = [await begin(), await begin()];
      await publish(first, 'a', 'lost');
      const waiting = publish(second, 'a', 'kept');
      first.release(true);
      await waiting;
      await commit(second);
      await receiver.hasTaken(1);
      expect(receiver.payloads).toEqual(['kept']);
    });

    test('those who wait for the first transaction of a key publish when it is rolled back', async () => {
      const app = new Container();
      app.register('IDatabasePool', () => pool);
      const first = await begin();
      await publish(first, 'a', 'undone');
      // On MariaDB the row of the turn disappears, and those who waited for it meet in a deadlock.
      const waiting = ['1', '2', '3'].map((mark) =>
        runInTransaction(app, (scope) => publish(scope.resolve<IConnection>('IConnection'), 'a', mark), {
          retries: 10,
        }),
      );
      await pause(250);
      await first.rollback();
      first.release();
      await Promise.all(waiting);
      await receiver.hasTaken(3);
      expect(new Set(receiver.payloads)).toEqual(new Set(['1', '2', '3']));
    });

    test('each key has the order of COMMIT, whenever in a transaction its event is published', async () => {
      await pool.query('CREATE TABLE counters (name varchar(9) PRIMARY KEY, n int)');
      await pool.query("INSERT INTO counters VALUES ('key 0', 0), ('key 1', 0), ('key 2', 0)");
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
            await connection.query('UPDATE counters SET n = n + 1 WHERE name = $1', [key]);
            await connection.query('INSERT INTO commits SELECT $1, n, name FROM counters WHERE name = $2', [mark, key]);
          },
          { retries: 10 },
        );
      };
      await pool.query('CREATE TABLE commits (mark varchar(9), n int, name varchar(9))');
      await Promise.all(
        Array.from({ length: 8 }, async (_, worker) => {
          for (let n = 0; n < 25; n++) await work(worker * 25 + n);
        }),
      );
      await receiver.hasTaken(200);
      for (const key of ['key 0', 'key 1', 'key 2']) {
        const commits = await pool.query<{ mark: string }>('SELECT mark FROM commits WHERE name = $1 ORDER BY n', [
          key,
        ]);
        expect(receiver.payloadsOf(key)).toEqual(commits.map(({ mark }) => mark));
      }
    });
  });
});
