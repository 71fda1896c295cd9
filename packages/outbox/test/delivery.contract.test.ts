import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { chosen } from '@ambit/test-kit';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type IConnection, type IDatabasePool, runInTransaction, type TransactionError } from '@ambit/transaction';
import { sandbox, type Sandbox, SimulatedClock } from '@ambit/transaction/testing';
import { Container, Registration, singleton } from '@ambit/container';
import {
  createOutbox,
  type Deliver,
  type NewEvent,
  type Outbox,
  type OutboxEvent,
  type Relay,
  type RelayOptions,
} from '../src/index.js';
import { databases, type OpenDatabase } from './support/databases.js';
import { Receiver } from './support/receiver.js';

const QUICK: RelayOptions = { pollMs: 20, gatherMs: 0, backoffMs: 10, maxBackoffMs: 40 };
const never = new Promise<never>(() => undefined);

describe.each(chosen(databases))('an outbox on $name', ({ dialect, missing, open }) => {
  describe.skipIf(missing)('delivers', () => {
    let database: OpenDatabase;
    let pool: IDatabasePool;
    let outbox: Outbox;
    const relays: Relay[] = [];

    beforeEach(async () => {
      database = await open({ writers: 6 });
      pool = database.pool;
      outbox = createOutbox(pool, { dialect });
      await outbox.createTable();
    });
    afterEach(async () => {
      await Promise.all(relays.splice(0).map((relay) => relay.dispose()));
      await database.drop();
    });

    function startRelay(deliver: Deliver, options: RelayOptions = {}): Relay {
      const relay = outbox.relay(deliver, { ...QUICK, onError: () => undefined, ...options });
      relays.push(relay);
      relay.start();
      return relay;
    }
    const event = (payload: unknown, key?: string): NewEvent => ({
      topic: 'noted',
      payload,
      ...(key === undefined ? {} : { key }),
    });
    const rows = async (): Promise<object[]> =>
      pool.query('SELECT state, attempts, claimed_by FROM outbox ORDER BY position');
    async function inTransaction(events: readonly NewEvent[], end: 'commit' | 'rollback'): Promise<void> {
      const connection = await pool.getConnection();
      await connection.beginTransaction();
      for (const one of events) await outbox.publish(connection, one);
      await connection[end]();
      connection.release();
    }
    test('what is committed, and nothing that is rolled back', async () => {
      const receiver = new Receiver();
      startRelay(receiver.deliver);
      await inTransaction([event('undone', 'a'), event('undone')], 'rollback');
      await inTransaction([event({ n: 1 }, 'a'), event(['two'])], 'commit');
      await receiver.hasTaken(2);
      expect(receiver.payloads).toEqual([{ n: 1 }, ['two']]);
      expect(receiver.taken[0]).toMatchObject({ topic: 'noted', key: 'a', attempt: 1 });
      expect(Math.abs(Date.now() - Number(receiver.taken[0]?.createdAt))).toBeLessThan(60_000);
    });

    test('as work that an inspector can observe, with its outcome', async () => {
      const outcomes: unknown[] = [];
      const works = channel('ambit:work:context');
      const store = new AsyncLocalStorage<string>();
      works.bindStore(store, (work) => (work as { readonly name: string }).name);
      const settled = (message: unknown): void => void outcomes.push((message as { readonly error?: unknown }).error);
      subscribe('ambit:work:settled', settled);
      const receiver = new Receiver();
      const refusal = new Error('refused');
      startRelay(async (one, signal) => {
        expect(store.getStore()).toBe('delivery of noted');
        if (one.attempt === 1) throw refusal;
        await receiver.deliver(one, signal);
      });
      await outbox.publish(pool, event(1));
      await receiver.hasTaken(1);
      await expect.poll(() => outcomes).toEqual([refusal, undefined]);
      works.unbindStore(store);
      unsubscribe('ambit:work:settled', settled);
    });

    test('each event with the id that publish() returned, and deletes it', async () => {
      const receiver = new Receiver();
      const relay = startRelay(receiver.deliver);
      const ids = [await outbox.publish(pool, event(1)), await outbox.publish(pool, event(2))];
      await receiver.hasTaken(2);
      expect(receiver.taken.map(({ id }) => id)).toEqual(ids);
      await relay.dispose();
      expect(await rows()).toEqual([]);
    });

    test('when it is woken, long before the next poll', async () => {
      const receiver = new Receiver();
      const relay = startRelay(receiver.deliver, { pollMs: 3_600_000 });
      await outbox.publish(pool, event('woken'));
      relay.wake();
      await receiver.hasTaken(1);
      expect(receiver.payloads).toEqual(['woken']);
    });

    test('the events of one key in order, however often the first of them fails', async () => {
      const receiver = new Receiver(({ payload, attempt }) => {
        if (payload === 0 && attempt < 4) throw new Error('not yet');
      });
      for (let n = 0; n < 5; n++) await outbox.publish(pool, event(n, 'a'));
      startRelay(receiver.deliver);
      await receiver.hasTaken(5);
      expect(receiver.payloads).toEqual([0, 1, 2, 3, 4]);
      expect(receiver.arrived.map(({ payload, attempt }) => [payload, attempt]).slice(0, 4)).toEqual([
        [0, 1],
        [0, 2],
        [0, 3],
        [0, 4],
      ]);
    });

    test('the events of other keys while one key fails, with more of its events than can be claimed at once', async () => {
      const receiver = new Receiver(({ key }) => {
        if (key === 'bad') throw new Error('no');
      });
      for (let n = 0; n < 30; n++) await outbox.publish(pool, event(n, 'bad'));
      for (let n = 0; n < 5; n++) await outbox.publish(pool, event(n, 'good'));
      startRelay(receiver.deliver, { concurrency: 4, backoffMs: 60_000, maxBackoffMs: 60_000 });
      await receiver.hasTaken(5);
      expect(receiver.arrived.filter(({ key }) => key === 'bad').map(({ payload }) => payload)).toEqual([0]);
    });

    test('the events of other keys while the receiver hangs with one, with more than can be claimed at once', async () => {
      const receiver = new Receiver(({ key }) => (key === 'bad' ? never : undefined));
      for (let n = 0; n < 30; n++) await outbox.publish(pool, event(n, 'bad'));
      for (let n = 0; n < 5; n++) await outbox.publish(pool, event(n, 'good'));
      startRelay(receiver.deliver, { concurrency: 8, deliveryTimeoutMs: 60_000, drainMs: 0 });
      await outbox.publish(pool, event('last'));
      await receiver.hasTaken(6);
      expect(receiver.arrived.filter(({ key }) => key === 'bad')).toHaveLength(1);
    });

    test('a key whose first event is due later than those that waited for it', async () => {
      const keys = ['a', 'b', 'c'];
      for (let n = 0; n < 20; n++) for (const key of keys) await outbox.publish(pool, event(n, key));
      await pool.query('UPDATE outbox SET due_at = 1000');
      await pool.query('UPDATE outbox SET due_at = 5000, attempts = 1 WHERE position <= 3');
      const receiver = new Receiver();
      startRelay(receiver.deliver, { concurrency: 4 });
      await receiver.hasTaken(60);
      for (const key of keys) expect(receiver.payloadsOf(key)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    });

    test('again what took too long, and aborts its signal', async () => {
      let reason: unknown;
      const receiver = new Receiver(async ({ attempt }, signal) => {
        if (attempt > 1) return;
        signal.addEventListener('abort', () => (reason = signal.reason));
        await never;
      });
      await outbox.publish(pool, event('slow', 'a'));
      startRelay(receiver.deliver, { deliveryTimeoutMs: 30 });
      await receiver.hasTaken(1);
      expect((reason as TransactionError).code).toBe('AMBIT_TX_DELIVERY');
    });

    test('no longer after the last attempt, continues with the key, and again after retry()', async () => {
      let broken = true;
      const errors: TransactionError[] = [];
      const receiver = new Receiver(({ payload }) => {
        if (payload === 'bad' && broken) throw new Error('receiver says no');
      });
      const id = await outbox.publish(pool, event('bad', 'a'));
      await outbox.publish(pool, event('next', 'a'));
      const relay = startRelay(receiver.deliver, { maxAttempts: 3, onError: (error) => errors.push(error) });
      await receiver.hasTaken(1);
      expect(receiver.payloads).toEqual(['next']);
      expect(errors.map(({ code }) => code)).toEqual(['AMBIT_TX_DEAD_LETTER']);
      const [letter] = await outbox.deadLetters();
      expect(letter).toMatchObject({
        id,
        topic: 'noted',
        key: 'a',
        payload: 'bad',
        attempt: 3,
        lastError: 'receiver says no',
      });
      expect(await outbox.retry(['another'])).toBe(0);
      broken = false;
      expect(await outbox.retry([id])).toBe(1);
      relay.wake();
      await receiver.hasTaken(2);
      expect(receiver.taken.at(-1)).toMatchObject({ id, attempt: 1 });
      expect(await outbox.deadLetters()).toEqual([]);
    });

    test('the rest when a relay crashed in the middle of a key, in order', async () => {
      const crashed = new Receiver(({ payload }) => (payload === 1 ? never : undefined));
      for (let n = 0; n < 4; n++) await outbox.publish(pool, event(n, 'a'));
      const first = startRelay(crashed.deliver, { claimMs: 3000, deliveryTimeoutMs: 60_000, drainMs: 2999 });
      await crashed.hasSeen(2);
      const taker = new Receiver();
      startRelay(taker.deliver);
      await pause(50);
      expect(taker.arrived).toEqual([]);
      // From here on it renews its claim no more, as if it had crashed.
      const disposed = first.dispose();
      await taker.hasTaken(3);
      expect(taker.payloads).toEqual([1, 2, 3]);
      await disposed;
    });

    test('what text there is, and the message of a failure', async () => {
      const text = `\u0000 \ud800 'quoted' "twice" \\ \n \u{1f600} \u00e9`;
      const receiver = new Receiver(({ attempt }) => {
        if (attempt === 1) throw new Error(text);
      });
      const topic = `\u{1f600} "a" 'b' \\`;
      for (const key of ['a', 'A', '\u00e1', 'a ', '\u{1f600}'])
        await outbox.publish(pool, { topic, key, payload: { text } });
      startRelay(receiver.deliver, { maxAttempts: 1 });
      await receiver.hasSeen(5);
      await expect.poll(() => outbox.deadLetters()).toHaveLength(5);
      const letters = await outbox.deadLetters();
      expect(letters.map(({ key }) => key)).toEqual(['a', 'A', '\u00e1', 'a ', '\u{1f600}']);
      const lastError = ` ? 'quoted' "twice" \\ \n \u{1f600} \u00e9`;
      for (const letter of letters) expect(letter).toMatchObject({ topic, payload: { text }, lastError });
      expect(await outbox.retry(['x'.repeat(300), '\u{1f600}'])).toBe(0);
      expect(await outbox.retry('all')).toBe(5);
    });

    test('what is in progress before dispose() resolves, and leaves the rest unclaimed', async () => {
      let go = (): void => undefined;
      const gate = new Promise<void>((resolve) => (go = resolve));
      const receiver = new Receiver(() => gate);
      for (let n = 0; n < 3; n++) await outbox.publish(pool, event(n, 'a'));
      const relay = startRelay(receiver.deliver);
      await receiver.hasSeen(1);
      const disposed = relay.dispose();
      go();
      await disposed;
      expect(receiver.payloads).toEqual([0]);
      expect(await rows()).toEqual([1, 2].map(() => ({ state: 'pending', attempts: 0, claimed_by: null })));
    });

    test('nothing that dispose() has aborted, and does not count that as a failure', async () => {
      const receiver = new Receiver(
        (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
      );
      await outbox.publish(pool, event(1));
      const relay = startRelay(receiver.deliver, { drainMs: 20 });
      await receiver.hasSeen(1);
      await relay.dispose();
      expect(await rows()).toEqual([{ state: 'pending', attempts: 0, claimed_by: null }]);
    });

    test('from a table that is created later, and reports its absence once', async () => {
      const errors: TransactionError[] = [];
      const other = createOutbox(pool, {
        dialect,
        table: 'later_outbox',
      });
      const receiver = new Receiver();
      const relay = other.relay(receiver.deliver, { ...QUICK, onError: (error) => errors.push(error) });
      relays.push(relay);
      relay.start();
      await expect.poll(() => errors).toHaveLength(1);
      await pause(150);
      await other.createTable();
      await other.publish(pool, event('late'));
      await receiver.hasTaken(1);
      expect(errors.map(({ code }) => code)).toEqual(['AMBIT_TX_RELAY']);
    });

    test('and keeps what it delivered for keepDeliveredMs', async () => {
      const receiver = new Receiver();
      const relay = startRelay(receiver.deliver, { keepDeliveredMs: 3_600_000 });
      await outbox.publish(pool, event(1));
      await receiver.hasTaken(1);
      await relay.dispose();
      expect(await rows()).toEqual([{ state: 'delivered', attempts: 0, claimed_by: null }]);
      await pool.query('UPDATE outbox SET settled_at = 0');
      await outbox.publish(pool, event(2));
      const next = startRelay(receiver.deliver, { keepDeliveredMs: 3_600_000 });
      await receiver.hasTaken(2);
      await next.dispose();
      expect(await rows()).toHaveLength(1);
    });

    test('everything once, in the order of each key, with three relays that share the work', async () => {
      const { random } = new SimulatedClock();
      const receivers = [1, 2, 3].map(
        () =>
          new Receiver(({ attempt }) => {
            if (attempt < 3 && random() < 0.1) throw new Error('sometimes');
          }),
      );
      const all: OutboxEvent[] = [];
      const watched = receivers.map(({ deliver }): Deliver => async (one, signal) => {
        await deliver(one, signal);
        all.push(one);
      });
      for (const deliver of watched) startRelay(deliver, { concurrency: 7 });
      const keys = ['a', 'b', 'c', 'd'];
      for (let n = 0; n < 60; n++)
        await inTransaction(
          keys.map((key) => event(n, key)),
          'commit',
        );
      await expect.poll(() => all.length).toBeGreaterThanOrEqual(240);
      for (const key of keys)
        expect(all.filter((one) => one.key === key).map(({ payload }) => payload)).toEqual(
          Array.from({ length: 60 }, (_, n) => n),
        );
    });
  });
});

describe.each(databases)('in a sandbox on $name', ({ dialect, missing, open }) => {
  describe.skipIf(missing)('an outbox', () => {
    let database: OpenDatabase;
    let box: Sandbox;

    beforeEach(async () => {
      database = await open();
      await createOutbox(database.pool, { dialect }).createTable();
      box = await sandbox(database.pool);
    });
    afterEach(async () => {
      await box.rollback();
      await database.drop();
    });

    test('delivers events once their transaction has committed, and forgets them with the rest', async () => {
      const app = new Container().addRegistration(
        Registration.fromFactory(() => box)
          .pipe(singleton())
          .to('IDatabasePool'),
      );
      const outbox = createOutbox(box, { dialect });
      const publish = (topic: string, fail = false): Promise<void> =>
        runInTransaction(app, async (scope) => {
          await outbox.publish(scope.resolve<IConnection>('IConnection'), { topic, payload: 1 });
          if (fail) throw new Error('wanted');
        });
      await expect(publish('undone', true)).rejects.toThrow('wanted');
      await publish('done');
      const delivered: string[] = [];
      const relay = outbox.relay(({ topic }) => void delivered.push(topic), { keepDeliveredMs: 60_000 });
      relay.start();
      await expect.poll(() => delivered).toEqual(['done']);
      await relay.dispose();
      expect(await box.query('SELECT topic, state FROM outbox')).toEqual([{ topic: 'done', state: 'delivered' }]);
      await box.rollback();
      expect(await database.pool.query('SELECT * FROM outbox')).toEqual([]);
    });
  });
});
