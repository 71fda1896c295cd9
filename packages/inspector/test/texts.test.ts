import { describe, expect, it } from 'vitest';
import { withoutValues } from '../src/channels.js';
import { errorName } from '../src/error-names.js';

describe('the text of a statement, without values', () => {
  it.each([
    ["SELECT * FROM users WHERE name = 'Ada' AND id = $1", "SELECT * FROM users WHERE name = '…' AND id = $1"],
    ["WHERE a = 'it''s' AND b = 'two'", "WHERE a = '…' AND b = '…'"],
    [String.raw`WHERE a = E'it\'s secret' OR b`, "WHERE a = '…' OR b"],
    ["WHERE a = X'00FF' OR a = N'x' OR a = U&'x'", "WHERE a = '…' OR a = '…' OR a = '…'"],
    ['VALUES (42, -1.5, 1e9, .5, 0xFF)', 'VALUES (?, -?, ?, ?, ?)'],
    ['VALUES (0x_FF, 0o17, 0b101, 1_000, 1.5_5, 2e1_0)', 'VALUES (?, ?, ?, ?, ?, ?)'],
    ['SELECT a[17:42], @42', 'SELECT a[?:?], @?'],
    ['SELECT column1, "a 1" FROM t2', 'SELECT column1, "a 1" FROM t2'],
    ['WHERE a = $1 AND b = ?2 AND c = :name', 'WHERE a = $1 AND b = ?2 AND c = :name'],
    ["SELECT $$secret$$, $x$it's secret$x$ FROM t", "SELECT '…', '…' FROM t"],
    ['SELECT $clé$secret$clé$ FROM t', "SELECT '…' FROM t"],
    [String.raw`WHERE a = @E'it\'s secret' OR b`, "WHERE a = @'…' OR b"],
    [`WHERE a = E'one'\n'it\\'s secret' OR b`, "WHERE a = '…' OR b"],
    ["SELECT /* it's /* one */ secret */ a FROM t", 'SELECT a FROM t'],
    ['SELECT 1 -- trace 4711\n FROM t /* user 42 */', 'SELECT ? FROM t'],
    [String.raw`WHERE a = 'it\'s secret' OR b = 'secret'`, "WHERE a = '…'"],
    [String.raw`WHERE a = 'it\'', b = 'secret'`, "WHERE a = '…'"],
    [String.raw`WHERE a = 'C:\\' AND b`, "WHERE a = '…'"],
    [String.raw`WHERE a LIKE '50\%' AND b`, "WHERE a LIKE '…' AND b"],
    ['WHERE a = "ada@example.org" AND "b c".d', `WHERE a = '…' AND "b c".d`],
    ["SELECT 'never closed", "SELECT '…'"],
    ['SELECT /* never closed', 'SELECT'],
    ['SELECT $$never closed', "SELECT '…'"],
    ['  SELECT\n    a,\n    b  ', 'SELECT a, b'],
    ['SAVEPOINT ambit_1', 'SAVEPOINT ambit_1'],
  ])('%s', (sql, shown) => {
    expect(withoutValues(sql)).toBe(shown);
  });

  it('is cut to 2,000 characters', () => {
    expect(withoutValues(`SELECT ${'a, '.repeat(5000)} b`)).toHaveLength(2001);
  });

  it('is read in linear time', () => {
    const before = process.cpuUsage();
    for (const text of ["'", '$a$', '/*', '"', '1e', "E'\\", "E'a'\n--"]) withoutValues(text.repeat(200_000));
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
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
