import { Chance, firstSeed, replayedSeed, runsOr } from '@ambit/test-kit';
import type { IDatabasePool, IPooledConnection } from '@ambit/transaction';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOutbox, type Outbox } from '../src/index.js';
import { tableOf } from '../src/schema.js';
import { type Claimed, Store } from '../src/store.js';
import { databases, type OpenDatabase } from './support/databases.js';

const RUNS = runsOr(10);
const ACTIONS = 120;
const RELAYS = 3;
const KEYS = ['a', 'b'];

/** A pool whose statements wait, one at a time, until the test lets them go. */
class SteppedPool implements Pick<IDatabasePool, 'getConnection' | 'query'> {
  readonly #inner: IDatabasePool;
  #go: (() => void) | undefined;
  #onArrival: () => void = () => undefined;

  constructor(inner: IDatabasePool) {
    this.#inner = inner;
  }

  /** The statement that waits goes. */
  go(): void {
    this.#go?.();
    this.#go = undefined;
  }

  /** Resolves when a statement waits. */
  arrival(): Promise<void> {
    return this.#go ? Promise.resolve() : new Promise((resolve) => (this.#onArrival = resolve));
  }

  async query<R extends object>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    await this.#turn();
    return this.#inner.query<R>(sql, params);
  }

  async getConnection(): Promise<IPooledConnection> {
    const inner = await this.#inner.getConnection();
    return {
      beginTransaction: (options) => inner.beginTransaction(options),
      commit: () => inner.commit(),
      rollback: () => inner.rollback(),
      release: (destroy) => inner.release(destroy),
      query: async <R extends object>(sql: string, params?: readonly unknown[]) => {
        await this.#turn();
        return inner.query<R>(sql, params);
      },
    };
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#go = resolve;
      this.#onArrival();
    });
  }
}

/** A relay that does nothing by itself. */
class SteppedRelay {
  readonly pool: SteppedPool;
  readonly #store: Store;
  readonly #freed = new Set<string>();
  /** Claimed and not delivered, in order. */
  readonly line: Claimed[] = [];
  #operation: Promise<void> | undefined;

  constructor(inner: IDatabasePool, dialect: 'postgres' | 'sqlite' | 'mariadb') {
    this.pool = new SteppedPool(inner);
    this.#store = new Store(this.pool, tableOf({ dialect }), 3_600_000);
  }

  get isBusy(): boolean {
    return this.#operation !== undefined;
  }

  claim(limit: number): Promise<void> {
    return this.#begin(async () => {
      const keys = [...this.#freed];
      const { claimed } = await this.#store.claim(limit, keys);
      for (const key of keys) this.#freed.delete(key);
      this.line.push(...claimed);
    });
  }

  /** Stores that the event was delivered. */
  settle({ position, event: { key } }: Claimed): Promise<void> {
    return this.#begin(async () => {
      await this.#store.delivered([position], false);
      if (key !== undefined) this.#freed.add(key);
    });
  }

  /** The first event of the line has failed: those of its key behind it are released, too. */
  fail(): Promise<void> {
    const [first] = this.line;
    const failed = this.line.filter(({ event }) => event === first?.event || isBehind(event.key, first?.event.key));
    for (const one of failed) this.line.splice(this.line.indexOf(one), 1);
    const released = failed.map(({ position, event: { attempt } }, index) =>
      index === 0 ? { position, attempts: attempt, delay: 1000 } : { position, attempts: attempt - 1 },
    );
    return this.#begin(() => this.#store.release(released));
  }

  /** Lets one statement of its operation go. */
  async step(): Promise<void> {
    this.pool.go();
    await this.#pause();
  }

  async #begin(operation: () => Promise<void>): Promise<void> {
    this.#operation = operation().finally(() => (this.#operation = undefined));
    await this.#pause();
  }

  /** Until the operation waits before a statement, or is complete. */
  async #pause(): Promise<void> {
    await Promise.race([this.#operation, this.pool.arrival()]);
  }
}

const isBehind = (key: string | undefined, first: string | undefined): boolean => key !== undefined && key === first;

describe.each(databases)('on $name', ({ dialect, missing, open }) => {
  describe.skipIf(missing)('relays whose statements are interleaved at random', () => {
    let database: OpenDatabase;
    let pool: IDatabasePool;
    let outbox: Outbox;

    beforeAll(async () => {
      database = await open({ writers: RELAYS + 1 });
      pool = database.pool;
      outbox = createOutbox(pool, { dialect });
      await outbox.createTable();
    });
    afterAll(() => database.drop());

    const seeds = Array.from({ length: RUNS }, (_, run) => firstSeed + run);
    test.each(replayedSeed === undefined ? seeds : [replayedSeed])(
      'deliver each event, first in the order of its key: seed %i',
      async (seed) => {
        const chance = new Chance(seed);
        await pool.query('DELETE FROM outbox');
        const relays = Array.from({ length: RELAYS }, () => new SteppedRelay(pool, dialect));
        /** The ids of each key, in the order in which they were published. */
        const published = new Map<string, string[]>(KEYS.map((key) => [key, []]));
        const delivered = new Map<string, string[]>(KEYS.map((key) => [key, []]));
        const known = new Set<string>();

        async function publish(): Promise<void> {
          const key = chance.pick(KEYS);
          published.get(key)?.push(await outbox.publish(pool, { topic: 't', key, payload: null }));
        }
        async function deliver(relay: SteppedRelay): Promise<void> {
          const claimed = relay.line.shift();
          if (!claimed) return;
          const { id, key = '' } = claimed.event;
          if (!known.has(id)) delivered.get(key)?.push(id);
          known.add(id);
          const sofar = delivered.get(key) ?? [];
          expect(sofar).toEqual(published.get(key)?.slice(0, sofar.length));
          await relay.settle(claimed);
        }
        const timePasses = (): Promise<unknown> => pool.query('UPDATE outbox SET due_at = due_at - 2000');
        /** As if a relay had been stopped for so long that its claims are void; it does not know. */
        const claimsExpire = (): Promise<unknown> => pool.query('UPDATE outbox SET claimed_until = 1');

        for (let n = 0; n < ACTIONS; n++) {
          const relay = chance.pick(relays);
          if (relay.isBusy && chance.of(0.8)) await relay.step();
          else if (chance.of(0.3)) await chance.pick([publish, publish, publish, publish, timePasses, claimsExpire])();
          else if (relay.isBusy) continue;
          else if (relay.line.length === 0) await relay.claim(1 + chance.below(4));
          else if (chance.of(0.15)) await relay.fail();
          else await deliver(relay);
        }
        for (let n = 0; known.size < [...published.values()].flat().length; n++) {
          expect(n).toBeLessThan(1000);
          await timePasses();
          for (const relay of relays) {
            while (relay.isBusy) await relay.step();
            if (relay.line.length > 0) await deliver(relay);
            else await relay.claim(4);
          }
          if (n % 50 === 49) await claimsExpire();
        }
        for (const relay of relays) while (relay.isBusy) await relay.step();
        expect(delivered).toEqual(published);
      },
    );
  });
});
