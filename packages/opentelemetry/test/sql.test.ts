import { describe, expect, it } from 'vitest';
import * as registry from '@opentelemetry/semantic-conventions';
import { masked, operationOf, Statements } from '../src/statements.js';

describe('the text of a statement', () => {
  it.each([
    ["WHERE a = 'one' AND b = 'it''s' AND c = ''", 'WHERE a = ? AND b = ? AND c = ?'],
    [String.raw`WHERE a = E'it\'s top secret' OR b = e'\\' OR c`, 'WHERE a = ? OR b = ? OR c'],
    ["WHERE a = E'one' -- it's\n  'it\\'s secret' OR b", 'WHERE a = ? OR b'],
    // MariaDB has one string here, behind which PostgreSQL reads on.
    [String.raw`WHERE like_e'\' OR nameE'\' OR b`, 'WHERE like_e?'],
    ["VALUES (X'00FF', b'101', N'x', U&'x')", 'VALUES (?, ?, ?, ?)'],
    ['VALUES ($$top secret$$, $t$it is $1 $$ secret$t$, $clé$secret$clé$)', 'VALUES (?, ?, ?)'],
    ["SELECT 'never closed", 'SELECT ?'],
    [String.raw`SELECT E'never closed\'`, 'SELECT ?'],
    ['SELECT $$never closed', 'SELECT ?'],
  ])('has no strings: %s', (sql, shown) => {
    expect(masked(sql)).toBe(shown);
  });

  it.each([
    ['VALUES (42, -1.5, .5, 5., 1e5, 1E+5, 1.5e-10)', 'VALUES (?, -?, ?, ?, ?, ?, ?)'],
    ['VALUES (0xFF, 0X_ff, 0o17, 0b101, 1_000, 1_0.5_5)', 'VALUES (?, ?, ?, ?, ?, ?)'],
    ['SELECT a[1:42], @5, 1::int', 'SELECT a[?:?], @?, ?::int'],
    [String.raw`SELECT 1E'it\'s secret'`, 'SELECT ??'],
  ])('has no numbers: %s', (sql, shown) => {
    expect(masked(sql)).toBe(shown);
  });

  it.each([
    ["SELECT 'a' -- it's secret\nFROM t -- 42", 'SELECT ?  \nFROM t'],
    ["/* user 42's */ SELECT 'a'", 'SELECT ?'],
    ["SELECT /* it's /* one */ secret */ 'a' FROM t", 'SELECT   ? FROM t'],
    ['SELECT a/* never closed /* */ secret', 'SELECT a'],
    ["SELECT '-- no comment' FROM t", 'SELECT ? FROM t'],
  ])('has no comments: %s', (sql, shown) => {
    expect(masked(sql)).toBe(shown);
  });

  it.each([
    'SELECT t2.column1, "it\'s 42", `it\'s 42` FROM t2 AS "a"',
    'WHERE a = $1 AND b = ?2 AND c = :name AND d$1 = @name',
    'SAVEPOINT ambit_1',
  ])('keeps names and parameters: %s', (sql) => {
    expect(masked(sql)).toBe(sql);
  });

  it('is masked in linear time, without recursion', () => {
    // Of this process, whatever else the machine does.
    const before = process.cpuUsage();
    const seeds = [
      "'",
      "''",
      "E'\\",
      "E'a'\n--",
      "E'a'\n ",
      '$a$',
      '$a',
      '/*',
      '/**/',
      '--',
      '"',
      '`',
      '1e',
      '1.',
      ' ',
    ];
    for (const seed of seeds) masked(`${seed.repeat(20_000)}x`);
    masked(`E${"'a'\n".repeat(20_000)}`);
    masked(`'${'x'.repeat(20_000_000)}'`);
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2000);
  });

  it('has the operation as its first word, also behind a comment', () => {
    expect(operationOf(masked('\n  insert into orders VALUES (1)'))).toBe('INSERT');
    expect(operationOf(masked('/* orders.ts:42 */ SELECT 1'))).toBe('SELECT');
    expect(operationOf(masked("'secret'"))).toBe('STATEMENT');
    expect(operationOf(masked('42abc'))).toBe('STATEMENT');
  });
});

describe('what a statement is called', () => {
  const named = (sql: string): string => new Statements().describe(sql, undefined).name;

  it.each([
    ['SELECT * FROM orders WHERE id = $1', 'SELECT orders'],
    [
      'SELECT * FROM "order lines" l LEFT JOIN public.products p ON p.id = l.product',
      'SELECT order lines public.products',
    ],
    ['INSERT INTO orders (id) SELECT id FROM drafts ON CONFLICT DO UPDATE SET id = 1', 'INSERT orders drafts'],
    ['UPDATE ONLY orders SET paid = true WHERE a IS DISTINCT FROM b', 'UPDATE orders'],
    ['DELETE FROM orders', 'DELETE orders'],
    ['SELECT * FROM unnest($1::int[]) FOR UPDATE SKIP LOCKED', 'SELECT'],
    ['SELECT * FROM (SELECT 1 FROM orders) o', 'SELECT orders'],
    ["SELECT 'FROM secret'", 'SELECT'],
    ['COMMIT', 'COMMIT'],
  ])('%s', (sql, name) => {
    expect(named(sql)).toBe(name);
  });

  it('is cut where the convention says so', () => {
    expect(named(`SELECT * FROM ${'x'.repeat(300)}`)).toHaveLength(255);
  });
});

it('every attribute is one of the stable registry', () => {
  const known = new Set<unknown>(Object.values(registry));
  const failed = Object.assign(new Error('no'), { sqlState: '23505' });
  const database = { system: 'postgresql', namespace: 'shop', address: 'localhost', port: 5433 };
  const { span } = new Statements(database).describe('SELECT 1 FROM a', failed);
  expect(Object.keys(span)).toHaveLength(10);
  expect(Object.keys(span).filter((name) => !known.has(name))).toEqual([]);
  expect(known).toContain('db.client.operation.duration');
});
