import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Container } from '@ambit/container';
import { hasMariadb, hasPostgres, mariadbPool, mariadbUrl, openMariadbDatabase, openSchema } from '@ambit/test-kit';
import { type DatabasePool, type IConnection, runInTransaction } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { SimulatedClock } from '@ambit/transaction/testing';
import { describe, expect, test } from 'vitest';
import { createOutbox } from '../src/index.js';

/** How long events are published. */
const SECONDS = Number(process.env['KILL_SECONDS'] ?? 5);
/** Ports of further nodes of the same Galera cluster. */
const NODES = (process.env['MARIADB_NODES'] ?? '').split(',').filter(Boolean).map(Number);
const PUBLISHERS = 8;
const RELAYS = 2;
const KEYS = Array.from({ length: 6 }, (_, n) => `key ${n}`);

interface Place {
  /** One address for each node. */
  readonly urls: readonly string[];
  readonly pools: readonly DatabasePool[];
  /** Cuts one of the sessions of publishers and relays, which one is left to `chance`. */
  killSession(chance: number): Promise<void>;
  drop(): Promise<void>;
}

async function onPostgres(): Promise<Place> {
  const schema = await openSchema();
  const url = new URL(schema.url());
  url.searchParams.set('application_name', 'to be killed');
  return {
    urls: [url.href],
    pools: [createPostgresPool({ connectionString: url.href, max: PUBLISHERS })],
    async killSession(chance) {
      const ours = `datname = current_database() AND application_name = 'to be killed'`;
      const { rows } = await schema.admin.query<{ pid: number }>(`SELECT pid FROM pg_stat_activity WHERE ${ours}`);
      const pid = rows[Math.floor(chance * rows.length)]?.pid;
      if (pid !== undefined) await schema.admin.query('SELECT pg_terminate_backend($1)', [pid]);
    },
    drop: schema.drop,
  };
}

async function onMariadb(): Promise<Place> {
  const database = await openMariadbDatabase();
  const urls = [database.url(), ...NODES.map((port) => database.url(port))];
  return {
    urls,
    pools: urls.map((url) => mariadbPool(url, { max: PUBLISHERS })),
    async killSession(chance) {
      const ours = `SELECT id FROM information_schema.processlist WHERE db = '${database.name}'`;
      const [rows] = (await database.admin(ours)) as [{ id: number }[]];
      const id = rows[Math.floor(chance * rows.length)]?.id;
      // It may have been closed meanwhile.
      if (id !== undefined) await database.admin(`KILL ${id}`).catch(() => undefined);
    },
    drop: database.drop,
  };
}

async function stop(relay: ChildProcess): Promise<void> {
  const exited = once(relay, 'exit');
  relay.kill('SIGKILL');
  await exited;
}

interface Delivery {
  readonly number: number;
  readonly id: string;
  readonly key: string;
  readonly payload: string;
}

describe.each([
  { name: 'PostgreSQL', dialect: 'postgres' as const, missing: !hasPostgres, open: onPostgres },
  { name: `MariaDB at ${mariadbUrl}`, dialect: 'mariadb' as const, missing: !hasMariadb, open: onMariadb },
])('on $name', ({ dialect, missing, open }) => {
  test.skipIf(missing)(
    'while relays and sessions are killed, each committed event arrives, and first in the order of its key',
    async () => {
      const place = await open();
      const { pools } = place;
      const pool = pools[0] as DatabasePool;
      await createOutbox(pool, { dialect }).createTable();
      await pool.query('CREATE TABLE counters (name varchar(9) PRIMARY KEY, n integer)');
      await pool.query('CREATE TABLE ledger (mark varchar(20) PRIMARY KEY, n integer, name varchar(9))');
      for (const key of KEYS) await pool.query('INSERT INTO counters VALUES ($1, 0)', [key]);

      const { random } = new SimulatedClock();
      /** The marks of each key, in the order in which the receiver took them first. */
      const taken = new Map<string, string[]>(KEYS.map((key) => [key, []]));
      const known = new Set<string>();
      const counts = { repeated: 0, refused: 0, unanswered: 0, failed: 0, killedRelays: 0, killedSessions: 0 };
      function receive(relay: ChildProcess, { number, id, key, payload }: Delivery): void {
        const chance = random();
        if (chance < 0.05) {
          counts.refused += 1;
          relay.send({ number, isTaken: false });
          return;
        }
        if (known.has(id)) counts.repeated += 1;
        else taken.get(key)?.push(payload);
        known.add(id);
        if (chance < 0.08) counts.unanswered += 1;
        else if (relay.connected) relay.send({ number, isTaken: true }, () => undefined);
      }

      let started = 0;
      function startRelay(): ChildProcess {
        const url = place.urls[(started += 1) % place.urls.length] ?? '';
        const relay = fork(new URL('support/relay-process.mjs', import.meta.url), [dialect, url]);
        relay.on('message', (delivery: Delivery) => receive(relay, delivery));
        return relay;
      }
      const relays = Array.from({ length: RELAYS }, startRelay);

      const end = Date.now() + SECONDS * 1000;
      async function publishAll(publisher: number): Promise<void> {
        const own = pools[publisher % pools.length] as DatabasePool;
        const outbox = createOutbox(own, { dialect });
        const app = new Container();
        app.register('IDatabasePool', () => own);
        for (let n = 0; Date.now() < end; n++) {
          const key = KEYS[Math.floor(random() * KEYS.length)] as string;
          const mark = `${publisher} ${n}`;
          const isLate = random() < 0.1;
          const work = runInTransaction(
            app,
            async (scope) => {
              const connection = scope.resolve<IConnection>('IConnection');
              await outbox.publish(connection, { topic: 'noted', key, payload: mark });
              await pause(2 * random());
              await connection.query('UPDATE counters SET n = n + 1 WHERE name = $1', [key]);
              const note = 'INSERT INTO ledger SELECT $1, n, name FROM counters WHERE name = $2';
              await connection.query(note, [mark, key]);
              if (isLate) throw new Error('wanted');
            },
            { retries: 20 },
          );
          // Of those whose session was killed at COMMIT, the ledger says whether they are stored.
          await work.catch(() => (counts.failed += 1));
        }
      }
      async function killAll(): Promise<void> {
        for (let n = 0; Date.now() < end; n++) {
          await pause(200);
          await place.killSession(random());
          counts.killedSessions += 1;
          if (n % 8 !== 7) continue;
          const index = Math.floor(random() * RELAYS);
          relays[index]?.kill('SIGKILL');
          counts.killedRelays += 1;
          relays[index] = startRelay();
        }
      }
      await Promise.all([killAll(), ...Array.from({ length: PUBLISHERS }, (_, n) => publishAll(n))]);

      const left = async (): Promise<number> => {
        const [row] = await pool.query<{ events: number | string }>('SELECT count(*) AS events FROM outbox');
        return Number(row?.events);
      };
      await expect.poll(left, { interval: 100 }).toBe(0);
      await Promise.all(relays.map(stop));

      let committed = 0;
      for (const key of KEYS) {
        const rows = await pool.query<{ mark: string }>('SELECT mark FROM ledger WHERE name = $1 ORDER BY n', [key]);
        expect(taken.get(key)).toEqual(rows.map(({ mark }) => mark));
        committed += rows.length;
      }
      console.log(JSON.stringify({ dialect, nodes: place.urls.length, committed, ...counts }));
      expect(committed).toBeGreaterThan(0);
      expect(counts.killedRelays).toBeGreaterThan(0);
      await Promise.all(pools.map((one) => one.close()));
      await place.drop();
    },
    (SECONDS + 90) * 1000,
  );
});
