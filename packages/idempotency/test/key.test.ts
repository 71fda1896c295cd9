import { describe, expect, test } from 'vitest';
import { TransactionError } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { createIdempotency, IdempotencyError, type IdempotencyOptions, type IdempotentRequest } from '../src/index.js';
import { readKey } from '../src/key.js';

const REQUEST: IdempotentRequest = { key: 'a', caller: undefined, endpoint: 'POST /', input: null };
const keyOf = (key: IdempotentRequest['key'], others: Partial<IdempotentRequest> = {}) =>
  readKey({ ...REQUEST, key, ...others })?.key;

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
    const started = performance.now();
    for (const odd of [`"${'\\"'.repeat(1000)}`, `"a"${'; a="'.repeat(399)}`, `"a"${' ;'.repeat(1000)}`])
      expect(() => keyOf(odd.slice(0, 2048))).toThrow(IdempotencyError);
    expect(performance.now() - started).toBeLessThan(500);
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
