import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createOutbox, type NewEvent, outboxSchema, type RelayOptions } from '../src/index.js';
import { backoff, readRelayOptions } from '../src/options.js';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { type IDatabasePool, splitStatements, TransactionError } from '@ambit/transaction';
import { Receiver } from './support/receiver.js';

let pool: IDatabasePool;
beforeEach(() => void (pool = createSqlitePool({ path: ':memory:' })));
afterEach(() => pool.close());

const circular: Record<string, unknown> = {};
circular['self'] = circular;

describe('publish() refuses', () => {
  test.each<[string, Partial<NewEvent>, RegExp]>([
    ['no topic', { topic: '' }, /topic must be text of 1 to 255/],
    ['a topic that is no text', { topic: 7 as unknown as string }, /topic must be text/],
    ['a long topic', { topic: 'x'.repeat(256) }, /topic must be text/],
    ['a topic with a line break', { topic: 'a\nb' }, /without control characters/],
    ['an empty key', { key: '' }, /key must be text/],
    ['half of a surrogate pair', { key: '\ud800' }, /key must be text/],
    ['no payload', { payload: undefined }, /payload must be a value that JSON has, not undefined/],
    ['a function', { payload: () => 1 }, /payload must be a value that JSON has/],
    ['a bigint', { payload: 1n }, /payload cannot be written as JSON/],
    ['a circular payload', { payload: circular }, /payload cannot be written as JSON/],
    ['more than 1 MiB', { payload: 'x'.repeat(1_048_576) }, /payload has 1048578 characters/],
  ])('%s', async (_, part, message) => {
    const outbox = createOutbox(pool, { dialect: 'sqlite' });
    await outbox.createTable();
    const published = outbox.publish(pool, { topic: 't', payload: 1, ...part });
    await expect(published).rejects.toThrow(message);
    await expect(published).rejects.toMatchObject({ code: 'AMBIT_TX_PARAMETER' });
    expect(await pool.query('SELECT * FROM outbox')).toEqual([]);
  });
});

test.each([null, 0, '', [], 'text with \u0000 and \ud800', { a: [1, { b: null }] }])(
  'a payload arrives as it was published: %j',
  async (payload) => {
    const outbox = createOutbox(pool, { dialect: 'sqlite' });
    await outbox.createTable();
    await outbox.publish(pool, { topic: 't', payload });
    const receiver = new Receiver();
    await using relay = outbox.relay(receiver.deliver);
    relay.start();
    await receiver.hasTaken(1);
    expect(receiver.payloads).toEqual([payload]);
  },
);

describe('an invalid option', () => {
  test('a topic whose schema is none', () => {
    const topics = { paid: { parse: () => 1 } } as never;
    expect(() => createOutbox(pool, { dialect: 'sqlite', topics })).toThrow(/topics\['paid'\].*must be a function/);
  });
  test.each(['Outbox', 'a b', 'a;b', '1a', '', 'a.b.c', 'x'.repeat(49), 'a"b', 7])('table: %j', (table) => {
    const options = { dialect: 'sqlite', table: table as string } as const;
    for (const use of [() => createOutbox(pool, options), () => outboxSchema(options)])
      expect(use).toThrow(/table must be a name of at most 48 lower-case letters/);
  });
  test.each<[string, () => unknown, RegExp]>([
    ['dialect', () => createOutbox(pool, { dialect: 'mysql' as never }), /must be 'postgres', 'sqlite' or 'mariadb'/],
    ['pool', () => createOutbox(undefined as never, { dialect: 'sqlite' }), /pool.query must be/],
    ['receiver', () => createOutbox(pool, { dialect: 'sqlite' }).relay('url' as never), /deliver must be/],
  ])('%s', (_, make, message) => expect(make).toThrow(message));
  test.each<[keyof RelayOptions, unknown]>([
    ['deliveryTimeoutMs', 0],
    ['deliveryTimeoutMs', Infinity],
    ['pollMs', 0],
    ['claimMs', -1],
    ['drainMs', 10_000],
    ['concurrency', 0],
    ['maxAttempts', 1.5],
    ['backoffMs', 'soon'],
    ['onError', 'log'],
  ])('%s: %j', (name, value) => {
    const outbox = createOutbox(pool, { dialect: 'sqlite' });
    const make = (): unknown => outbox.relay(() => undefined, { [name]: value });
    expect(make).toThrow(TransactionError);
    expect(make).toThrow(new RegExp(`^${name} must be`));
  });
});

test('the schema names its indexes after the table, in the schema of the table', () => {
  const statements = splitStatements(outboxSchema({ dialect: 'postgres', table: 'shop.events' }));
  expect(statements).toHaveLength(6);
  expect(statements[0]).toMatch(/^CREATE TABLE shop\.events \(/);
  expect(statements[1]).toMatch(/^CREATE INDEX events_fresh ON shop\.events /);
});

test('on MariaDB the indexes are in the statement of their table, which the server commits by itself', () => {
  const statements = splitStatements(outboxSchema({ dialect: 'mariadb', table: 'shop.events' }));
  expect(statements.map((text) => text.slice(0, text.indexOf(' (')))).toEqual([
    'CREATE TABLE IF NOT EXISTS shop.events_turns',
    'CREATE TABLE shop.events',
  ]);
});

test('back-off doubles up to the longest pause, and half of it is chance', () => {
  const clock = { now: () => 0, setTimer: () => () => undefined, random: () => 0 };
  const settings = readRelayOptions({ backoffMs: 1000, maxBackoffMs: 60_000, clock });
  expect([1, 2, 3, 7, 20].map((n) => backoff(settings, n))).toEqual([500, 1000, 2000, 30_000, 30_000]);
  const most = readRelayOptions({ clock: { ...clock, random: () => 1 } });
  expect(backoff(most, 1)).toBe(1000);
});

test('deliveries, failures and the backlog are published on channels', async () => {
  const heard: [string, Record<string, unknown>][] = [];
  const hear = (message: unknown, name: string | symbol): void =>
    void heard.push([String(name), message as Record<string, unknown>]);
  const names = ['delivered', 'failed', 'backlog'].map((name) => `ambit:outbox:${name}`);
  for (const name of names) subscribe(name, hear);
  const outbox = createOutbox(pool, { dialect: 'sqlite' });
  await outbox.createTable();
  await outbox.publish(pool, { topic: 't', payload: 1 });
  const receiver = new Receiver(({ attempt }) => {
    if (attempt === 1) throw new Error('not yet');
  });
  const relay = outbox.relay(receiver.deliver, { pollMs: 5, backoffMs: 1 });
  relay.start();
  await receiver.hasTaken(1);
  await relay.dispose();
  for (const name of names) unsubscribe(name, hear);
  const number = expect.any(Number) as number;
  const event = expect.objectContaining({ topic: 't', payload: 1 }) as object;
  const common = { table: 'outbox', event, milliseconds: number };
  expect(new Set(heard.map(([name]) => name))).toEqual(new Set(names));
  const last = Object.fromEntries(heard);
  expect(last['ambit:outbox:failed']).toEqual({
    ...common,
    error: new Error('not yet'),
    dead: false,
    retryInMs: number,
  });
  expect(last['ambit:outbox:delivered']).toEqual({ ...common, lag: number });
  expect(last['ambit:outbox:backlog']).toEqual({ table: 'outbox', pending: 1, dead: 0, lag: number });
});
