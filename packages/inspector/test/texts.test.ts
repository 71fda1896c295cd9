import { describe, expect, it } from 'vitest';
import { withoutValues } from '../src/channels.js';
import { errorName } from '../src/names.js';

describe('the text of a statement, without values', () => {
  // The tests of `@ambit/opentelemetry` have all forms of literals.
  it.each([
    ["SELECT * FROM users WHERE name = 'Ada' AND id = $1", "SELECT * FROM users WHERE name = '…' AND id = $1"],
    ['VALUES (42, -1.5, $$secret$$, "a 1")', `VALUES (?, -?, '…', "a 1")`],
    [String.raw`WHERE a = 'it\'s secret' OR b = 'secret'`, "WHERE a = '…'"],
    ['WHERE a = "ada@example.org" AND "b c".d', `WHERE a = '…' AND "b c".d`],
    ['  SELECT 1 -- trace 4711\n  FROM t /* user 42 */  ', 'SELECT ? FROM t'],
  ])('%s', (sql, shown) => {
    expect(withoutValues(sql)).toBe(shown);
  });

  it('is cut to 2,000 characters', () => {
    expect(withoutValues(`SELECT ${'a, '.repeat(5000)} b`)).toHaveLength(2001);
  });
});

describe('the name of an error', () => {
  const refused = (fields: object): Error =>
    new Error('23503 violated by canary', { cause: Object.assign(new Error('canary'), { code: '23503' }, fields) });

  it.each([
    ['pg', { constraint: 'orders_voucher_fkey', table: 'orders', detail: 'Key (voucher)=(canary)' }],
    ['postgres.js', { constraint_name: 'orders_voucher_fkey', table_name: 'orders' }],
  ])('has the constraint that was violated, and its table, as %s says them', (_, fields) => {
    expect(errorName(refused(fields))).toBe('Error 23503 foreign key violation of orders_voucher_fkey on orders');
  });

  it('has nothing else from fields with these names', () => {
    const own = Object.assign(new Error('canary'), { constraint: 'canary', table: 'canary' });
    const get = (): never => {
      throw new Error('canary');
    };
    const unreadable = Object.defineProperty(new Error('canary'), 'constraint', { get });
    const odd = refused({ table: "can'ary", constraint: 7 });
    for (const error of [own, Object.assign(unreadable, { code: '23505' }), odd])
      expect(errorName(error)).not.toMatch(/can|7/);
  });

  it('of a time limit is not the class of all errors of the web', async () => {
    const aborted = await new Promise((resolve) => {
      const signal = AbortSignal.timeout(1);
      signal.addEventListener('abort', () => resolve(signal.reason));
    });
    expect(errorName(aborted)).toBe('TimeoutError');
  });
});
