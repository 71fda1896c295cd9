import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { TransactionError } from '@ambit/transaction';
import type { StandardSchema } from '@ambit/transaction/extension';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { connectionLost } from '@ambit/test-kit';
import { setImmediate as turn } from 'node:timers/promises';
import { createIdempotency, IdempotencyError, type IdempotencyOptions, type IdempotentRequest } from '../src/index.js';
import { readKey } from '../src/key.js';
import { databases, Orders } from './support/orders.js';

const REQUEST: IdempotentRequest = { key: 'a', caller: undefined, endpoint: 'POST /', input: null };
const keyOf = (key: IdempotentRequest['key'], others: Partial<IdempotentRequest> = {}) =>
  readKey({ ...REQUEST, key, ...others })?.key;
const schemaOf = (validate: (value: unknown) => unknown): StandardSchema<unknown, string> => ({
  '~standard': {
    version: 1,
    vendor: 'any',
    validate: validate as StandardSchema<unknown, string>['~standard']['validate'],
  },
});

describe('a key', () => {
  test.each<[string, string]>([
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['"abc";a', 'abc'],
    ['"abc"; a=1;b="x;\\"y";c=?0;*d=:aGk=:', 'abc'],
    ['a"b', 'a"b'],
    ['"a\\"b"', 'a"b'],
    ['"a\\\\b"', 'a\\b'],
    // A space or a quote in front would let it look like another stored key, so it keeps its quotes.
    ['"of the moon"', '"of the moon"'],
    ['"\\"a\\""', '"\\"a\\""'],
    ['~!"#$%&()*+,;', '~!"#$%&()*+,;'],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  ])('that is sent as %s is %s', (sent, key) => expect(keyOf(sent)).toBe(key));

  test.each<[IdempotentRequest['key']]>([
    [''],
    ['""'],
    ['a b'],
    ['"a'],
    ['"a"b'],
    ['"a", "b"'],
    ['"a";A=1'],
    ['"a\tb"'],
    ['"é"'],
    ['é'],
    ['x'.repeat(256)],
    [`"${'x'.repeat(256)}"`],
    [`"a"${';a'.repeat(2000)}`],
    [['a', 'b']],
    [[]],
  ])('that is sent as %j is malformed', (sent) => expect(() => keyOf(sent)).toThrow(IdempotencyError));

  test('is checked without its quotes by the schema, whose result is the key', () => {
    const key = schemaOf((text) =>
      /^[-a-f\d ]+$/i.test(String(text)) ? { value: String(text).toLowerCase() } : { issues: [] },
    );
    const stored = (sent: string): unknown => readKey({ ...REQUEST, key: sent }, { key })?.key;
    expect(['ABC-1', '"ABC-1"', '"AB C"'].map(stored)).toEqual(['abc-1', 'abc-1', '"ab c"']);
    expect(() => stored('xyz')).toThrow(expect.objectContaining({ problem: 'invalid', status: 400, statusCode: 400 }));
  });

  test.each<[string, () => unknown]>([
    ['is a promise', async () => ({ value: 'a' })],
    ['is no text', () => ({ value: 7 })],
    ['is empty', () => ({ value: '' })],
    ['is not ASCII', () => ({ value: 'é' })],
    ['is too long', () => ({ value: 'x'.repeat(256) })],
  ])('cannot be that of a schema whose result %s', (_, validate) => {
    const read = (): unknown => readKey({ ...REQUEST, key: 'a' }, { key: schemaOf(validate) });
    expect(read).toThrow(
      expect.objectContaining({ code: 'AMBIT_OPTION', message: expect.stringMatching(/^key must/) }),
    );
  });

  test('may come as a list of one, and may be absent', () => {
    expect([keyOf(['a']), keyOf(undefined), keyOf(null)]).toEqual(['a', undefined, undefined]);
    expect(() => keyOf(undefined, { required: true })).toThrow(/needs an Idempotency-Key/);
  });

  test('of a caller is not to be guessed from the key, and not the one of another', () => {
    const keys = ['Ada', 'Grace', 'Ada\na', ''].map((caller) => keyOf('a', { caller }));
    expect(new Set(keys).size).toBe(4);
    for (const key of keys) expect(key).toMatch(/^of [\w-]{43}$/);
  });

  test('is read in time that grows with its length', () => {
    const before = process.cpuUsage();
    for (const odd of [`"${'\\"'.repeat(1000)}`, `"a"${'; a="'.repeat(399)}`, `"a"${' ;'.repeat(1000)}`])
      expect(() => keyOf(odd.slice(0, 2048))).toThrow(IdempotencyError);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
  });
});

test('a fingerprint is that of the endpoint and the input', () => {
  const prints = [
    REQUEST,
    { ...REQUEST, endpoint: 'POST /b' },
    { ...REQUEST, input: 1 },
    { ...REQUEST, input: undefined },
  ].map((request) => readKey(request)?.fingerprint);
  expect(new Set(prints).size).toBe(4);
  expect(readKey({ ...REQUEST, caller: 'Ada' })?.fingerprint).toBe(prints[0]);
});

describe('an invalid request', () => {
  const { caller: _, ...withoutCaller } = REQUEST;
  test.each<[string, unknown, RegExp, string]>([
    ['without a caller', withoutCaller, /caller must be/, 'AMBIT_OPTION'],
    ['with a number as its caller', { ...REQUEST, caller: 7 }, /caller must be/, 'AMBIT_OPTION'],
    ['without an endpoint', { ...REQUEST, endpoint: '' }, /endpoint must be/, 'AMBIT_OPTION'],
    ['with an endpoint in two lines', { ...REQUEST, endpoint: 'a\nb' }, /endpoint must be/, 'AMBIT_OPTION'],
    ['with an input that JSON lacks', { ...REQUEST, input: 1n }, /input cannot be written/, 'AMBIT_TX_PARAMETER'],
  ])('%s is refused', (_name, request, message, code) => {
    const read = (): unknown => readKey(request as IdempotentRequest);
    expect(read).toThrow(TransactionError);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ code }));
  });
});

describe('an invalid option', () => {
  const pool = createSqlitePool({ path: ':memory:' });
  test.each<[string, Partial<Record<keyof IdempotencyOptions, unknown>>]>([
    ['dialect', { dialect: 'mysql' }],
    ['table', { table: 'a b' }],
    ['lifetimeMs', { lifetimeMs: 0 }],
    ['lifetimeMs', { lifetimeMs: Infinity }],
    ['lifetimeMs', { lifetimeMs: '1 day' }],
    ["key\\['~standard'].validate", { key: {} }],
    ['documentation', { documentation: 'https://example.org/> ' }],
    ['onError', { onError: 'log' }],
  ])('%s: %j', (name, options) => {
    const make = (): unknown => createIdempotency(pool, { dialect: 'sqlite', ...options } as IdempotencyOptions);
    expect(make).toThrow(TransactionError);
    expect(make).toThrow(new RegExp(`^${name} must be`));
  });
  test('pool', () => {
    expect(() => createIdempotency(undefined as never, { dialect: 'sqlite' })).toThrow(/pool.query must be/);
  });
});

const DAY_MS = 86_400_000;

describe.each(databases)('with $name', ({ dialect, missing, open }) => {
  describe.skipIf(missing)('expired keys', () => {
    let database: Awaited<ReturnType<typeof open>>;
    let orders: Orders;

    beforeAll(async () => {
      database = await open();
      orders = new Orders(database.pool, dialect);
      await orders.createTables();
    });
    beforeEach(() => orders.clear());
    afterAll(() => database.drop());

    const insert = (key: string, ageMs: number) =>
      orders.leave({ key, fingerprint: '', created_at: Date.now() - ageMs });

    const insertMany = (count: number, createdAt: (index: number) => number) =>
      orders.leave(
        ...Array.from({ length: count }, (_, index) => ({
          key: String(index),
          fingerprint: '',
          created_at: createdAt(index),
        })),
      );

    test('are removed, and younger ones are kept', async () => {
      await insert('old', DAY_MS);
      await insert('young', DAY_MS - 60_000);
      expect(await orders.idempotency.removeExpired()).toBe(1);
      expect(await orders.keys()).toEqual(['young']);
    });

    test('are removed at the start', async () => {
      await insert('old', DAY_MS);
      orders.idempotency.start();
      orders.idempotency.start();
      await expect.poll(() => orders.keys()).toEqual([]);
      orders.idempotency.dispose();
    });

    test('are removed a thousand at a time, and not after dispose()', async () => {
      await insertMany(2500, (index) => index + 1);
      const { pool } = orders;
      const stopped = createIdempotency(pool, { dialect });
      const query = vi.spyOn(pool, 'query');
      const removing = stopped.removeExpired();
      stopped.dispose();
      expect(await removing).toBe(1000);
      expect(await createIdempotency(pool, { dialect }).removeExpired()).toBe(1500);
      // On MariaDB it is several statements, on a connection.
      if (dialect !== 'mariadb')
        expect(query.mock.calls.map(([, params]) => params?.[0])).toEqual([-1, -1, 2000, 2500]);
      query.mockRestore();
    });

    test('of one age are all removed, however many they are', async () => {
      await insertMany(1500, () => 7);
      expect(await createIdempotency(orders.pool, { dialect }).removeExpired()).toBe(1500);
      expect(await orders.keys()).toEqual([]);
    });

    test.runIf(dialect === 'mariadb')(
      'are removed by another attempt where the first one ends a deadlock',
      async () => {
        const { pool } = orders;
        // It keeps what a rollback would undo.
        await pool.query('CREATE TABLE attempts (number integer) ENGINE = MyISAM');
        await pool.query(`CREATE TRIGGER first_fails BEFORE DELETE ON idempotency_keys FOR EACH ROW
        IF (SELECT COUNT(*) FROM attempts) = 0 THEN
          INSERT INTO attempts VALUES (1);
          SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213;
        END IF`);
        await insert('old', DAY_MS);
        expect(await createIdempotency(pool, { dialect }).removeExpired()).toBe(1);
        expect([await orders.keys(), await pool.query('SELECT number FROM attempts')]).toEqual([[], [{ number: 1 }]]);
        await pool.query('DROP TRIGGER first_fails');
        await pool.query('DROP TABLE attempts');
      },
    );

    test('that cannot be removed are reported, and nothing fails', async () => {
      const { pool } = orders;
      const errors: unknown[] = [];
      const warnings: Error[] = [];
      process.on('warning', (warning) => void warnings.push(warning));
      const uses = [vi.spyOn(pool, 'query'), vi.spyOn(pool, 'getConnection')];
      for (const use of uses) use.mockRejectedValue(connectionLost());
      for (const options of [{ onError: (error: unknown) => void errors.push(error) }, {}]) {
        const keys = createIdempotency(pool, { dialect, ...options });
        keys.start();
        keys.dispose();
      }
      await turn();
      for (const use of uses) use.mockRestore();
      expect(errors).toMatchObject([{ code: 'AMBIT_TX_CONNECTION_LOST' }]);
      await expect
        .poll(() => warnings.map(({ message }) => message))
        .toEqual(['Expired idempotency keys were not removed; the next attempt is in an hour']);
      process.removeAllListeners('warning');
    });
  });
});
