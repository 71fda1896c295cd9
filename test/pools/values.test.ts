import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { inspect, isDeepStrictEqual } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import type { DatabasePool } from '@ambit/transaction';
import { createPostgresPool } from '@ambit/transaction/postgres';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { type BetterSqlite3, fromBetterSqlite3 } from '@ambit/drivers/better-sqlite3';
import { fromMysql2Pool } from '@ambit/drivers/mysql2';
import { fromNodeSqlite } from '@ambit/drivers/node-sqlite';
import { fromPgPool } from '@ambit/drivers/pg';
import { fromPGlite } from '@ambit/drivers/pglite';
import { fromPostgresJs } from '@ambit/drivers/postgres-js';
import mysql from 'mysql2/promise';
import { Pool } from 'pg';
import postgres from 'postgres';
import { expect, test } from 'vitest';
import { mariadbUrl, newName, openSchema } from './databases.js';

// The clock of this zone is put back, so two hours of a year have the same name.
process.env['TZ'] = 'America/New_York';

type Family = 'PostgreSQL' | 'SQLite' | 'MariaDB';

/** The column that a user of each database would make for it. */
const COLUMNS: Readonly<Record<string, Partial<Record<Family, string>>>> = {
  text: { PostgreSQL: 'text', SQLite: 'TEXT', MariaDB: 'TEXT' },
  integer: { PostgreSQL: 'int', SQLite: 'INTEGER', MariaDB: 'INT' },
  bigint: { PostgreSQL: 'bigint', SQLite: 'INTEGER', MariaDB: 'BIGINT' },
  numeric: { PostgreSQL: 'numeric', MariaDB: 'DECIMAL(40, 20)' },
  double: { PostgreSQL: 'double precision', SQLite: 'REAL', MariaDB: 'DOUBLE' },
  boolean: { PostgreSQL: 'boolean', SQLite: 'INTEGER', MariaDB: 'BOOLEAN' },
  bytes: { PostgreSQL: 'bytea', SQLite: 'BLOB', MariaDB: 'BLOB' },
  json: { PostgreSQL: 'jsonb', SQLite: 'TEXT', MariaDB: 'JSON' },
  'time with zone': { PostgreSQL: 'timestamptz', SQLite: 'TEXT', MariaDB: 'TIMESTAMP(6)' },
  'time without zone': { PostgreSQL: 'timestamp', SQLite: 'TEXT', MariaDB: 'DATETIME(6)' },
  date: { PostgreSQL: 'date', SQLite: 'TEXT', MariaDB: 'DATE' },
  time: { PostgreSQL: 'time', SQLite: 'TEXT', MariaDB: 'TIME(6)' },
  uuid: { PostgreSQL: 'uuid', SQLite: 'TEXT', MariaDB: 'UUID' },
  inet: { PostgreSQL: 'inet', MariaDB: 'INET6' },
  enum: { PostgreSQL: 'mood', MariaDB: "ENUM('happy', 'sad')" },
  bit: { PostgreSQL: 'bit(3)', MariaDB: 'BIT(3)' },
  interval: { PostgreSQL: 'interval' },
  money: { PostgreSQL: 'money' },
  range: { PostgreSQL: 'int4range' },
  point: { PostgreSQL: 'point' },
  'text[]': { PostgreSQL: 'text[]' },
  'integer[]': { PostgreSQL: 'int[]' },
  'bigint[]': { PostgreSQL: 'bigint[]' },
  'numeric[]': { PostgreSQL: 'numeric[]' },
  'boolean[]': { PostgreSQL: 'boolean[]' },
  'bytes[]': { PostgreSQL: 'bytea[]' },
  'time with zone[]': { PostgreSQL: 'timestamptz[]' },
  'json[]': { PostgreSQL: 'jsonb[]' },
};

class Money {
  readonly amount = 5;
}
class Instant {
  toJSON(): string {
    return '2024-02-29T12:00:00Z';
  }
}
class Version {
  toJSON(): object {
    return { major: 1 };
  }
}

const bytes = Buffer.from([0, 1, 127, 128, 255]);
const window = new Uint8Array(new Uint8Array([9, 9, 0, 128, 255, 9]).buffer, 2, 3);
const shared = new SharedArrayBuffer(3);

/** How it is written, what it is, and where it goes. */
const VALUES: readonly (readonly [written: string, value: unknown, ...columns: (keyof typeof COLUMNS)[]])[] = [
  ['null', null, 'text'],
  ['undefined', undefined, 'text'],
  ['true', true, 'boolean', 'text', 'integer'],
  ['1', 1, 'integer', 'boolean', 'bigint', 'numeric', 'text'],
  ['2', 2, 'boolean'],
  ['1.5', 1.5, 'double', 'numeric', 'integer'],
  ['0.1 + 0.2', 0.1 + 0.2, 'double', 'numeric'],
  ['-0', -0, 'double', 'integer'],
  ['NaN', Number.NaN, 'double', 'integer'],
  ['Infinity', Infinity, 'double', 'integer'],
  ['2 ** 53', 2 ** 53, 'bigint'],
  ['1e300', 1e300, 'double'],
  ['9007199254740993n', 9_007_199_254_740_993n, 'bigint', 'numeric', 'double'],
  ['2n ** 63n', 2n ** 63n, 'bigint', 'numeric'],
  ["'1.10'", '1.10', 'numeric', 'money'],
  ["''", '', 'text', 'integer', 'boolean'],
  ["'x\\0y'", 'x\0y', 'text'],
  ["'\\ud800'", '\ud800', 'text'],
  ["'\\u{1f642}'", '\u{1f642}', 'text'],
  ["'NULL'", 'NULL', 'text'],
  ['\'{"a":1}\'', '{"a":1}', 'json', 'text'],
  ['\'{"a":9007199254740993}\'', '{"a":9007199254740993}', 'json'],
  ["'2024-02-29'", '2024-02-29', 'date'],
  ["'2024-02-29 12:00:00.123456'", '2024-02-29 12:00:00.123456', 'time with zone', 'time without zone'],
  ["'2024-03-10 02:30:00'", '2024-03-10 02:30:00', 'time without zone'],
  ["'12:00:00.123456'", '12:00:00.123456', 'time'],
  ["'1 mon 2 days'", '1 mon 2 days', 'interval'],
  ["'0a1b2c3d-0000-4000-8000-00000000000f'", '0a1b2c3d-0000-4000-8000-00000000000f', 'uuid'],
  ["'::1'", '::1', 'inet'],
  ["'sad'", 'sad', 'enum'],
  ["'angry'", 'angry', 'enum'],
  ["'101'", '101', 'bit'],
  ["'[1,5)'", '[1,5)', 'range'],
  ["'(1,2)'", '(1,2)', 'point'],
  ['a Date', new Date(1_709_208_000_123), 'time with zone', 'time without zone', 'date', 'text', 'double'],
  ['a Date at midnight', new Date(2024, 1, 29), 'date'],
  ['a Date in the first of two equal hours', new Date('2024-11-03T05:30:00Z'), 'time with zone', 'time without zone'],
  ['a Date in the second', new Date('2024-11-03T06:30:00Z'), 'time with zone', 'time without zone'],
  ['a Date of 1800', new Date('1800-06-01T00:00:00Z'), 'time with zone', 'time without zone'],
  ['a Date of year 50', new Date('0050-06-01T00:00:00Z'), 'time with zone'],
  ['a Date of year 10000', new Date('+010000-06-01T00:00:00Z'), 'time with zone'],
  ['an invalid Date', new Date(Number.NaN), 'time with zone', 'text'],
  ['a Buffer', bytes, 'bytes', 'text', 'json', 'uuid'],
  ["Buffer.from('fig')", Buffer.from('fig'), 'text'],
  ['Buffer.from([0, 0, 0, 7])', Buffer.from([0, 0, 0, 7]), 'integer'],
  ['a Uint8Array on a part of its buffer', window, 'bytes'],
  ['a Uint8Array on a SharedArrayBuffer', new Uint8Array(shared), 'bytes'],
  ['an empty Buffer', Buffer.alloc(0), 'bytes'],
  ['a Uint16Array', new Uint16Array([1, 256]), 'bytes'],
  ['a Float32Array', new Float32Array([1.5]), 'bytes'],
  ['a BigInt64Array', new BigInt64Array([1n]), 'bytes'],
  ['a DataView', new DataView(window.buffer, 2, 3), 'bytes'],
  ['an ArrayBuffer', new Uint8Array([1, 2]).buffer, 'bytes', 'json'],
  ['a SharedArrayBuffer', shared, 'bytes'],
  ['[]', [], 'text[]', 'json', 'text'],
  ['[1, null, undefined]', [1, null, undefined], 'integer[]', 'json'],
  [
    '[[1, 2], [3, 4]]',
    [
      [1, 2],
      [3, 4],
    ],
    'integer[]',
    'json',
  ],
  ['[[1], []]', [[1], []], 'integer[]'],
  ["['NULL', '', 'a,\"b\\\\', null]", ['NULL', '', 'a,"b\\', null], 'text[]'],
  ["['x\\0y']", ['x\0y'], 'text[]'],
  ["['\\ud800']", ['\ud800'], 'text[]'],
  ['[1, 0, true, false]', [1, 0, true, false], 'boolean[]'],
  ["['true', 'false']", ['true', 'false'], 'boolean[]'],
  ["['1.10', '12345678901234567890.5']", ['1.10', '12345678901234567890.5'], 'numeric[]'],
  ['[9007199254740993n]', [9_007_199_254_740_993n], 'bigint[]', 'numeric[]'],
  ['[a Buffer]', [bytes], 'bytes[]'],
  ['[a Date]', [new Date(1_709_208_000_123)], 'time with zone[]'],
  ['[an invalid Date]', [new Date(Number.NaN)], 'text[]'],
  ['[{ a: 1 }]', [{ a: 1 }], 'json[]', 'json'],
  ["{ a: [1, 'b', null] }", { a: [1, 'b', null] }, 'json', 'text'],
  ['{}', {}, 'json'],
  ['{ a: 1n }', { a: 1n }, 'json'],
  [
    'an object that refers to itself',
    Object.assign(
      {},
      {
        get self() {
          return this;
        },
      },
    ),
    'json',
  ],
  ['Object.create(null)', Object.create(null), 'json'],
  ['a Map', new Map([[1, 2]]), 'json'],
  ['a Set', new Set([1]), 'json'],
  ['a Promise', Promise.resolve(1), 'json', 'text'],
  ['an Error', new Error('broken'), 'json'],
  ['/a/', /a/, 'text'],
  ["new String('a')", Object('a'), 'text'],
  ['an instance of a class', new Money(), 'json'],
  ['an instance whose toJSON() gives an object', new Version(), 'json'],
  ['an instance whose toJSON() gives text', new Instant(), 'time with zone', 'json', 'text'],
  ['a URL', new URL('https://a.example/'), 'text'],
  ["Symbol('a')", Symbol('a'), 'text'],
  ['a function', () => 1, 'text'],
];

/** True if it comes back as it went in. */
function isKept(sent: unknown, got: unknown): boolean {
  if (Object.is(sent, got)) return true;
  if (sent instanceof Date) return got instanceof Date && got.getTime() === sent.getTime();
  if (sent instanceof Uint8Array) return got instanceof Uint8Array && Buffer.compare(sent, got) === 0;
  if (Array.isArray(sent) && Array.isArray(got)) {
    return sent.length === got.length && sent.every((item, index) => isKept(item ?? null, got[index]));
  }
  return isDeepStrictEqual(sent, got);
}

function shown(value: unknown): string {
  if (Buffer.isBuffer(value)) return `a Buffer of ${value.length} bytes`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString();
  return `\`${inspect(value, { breakLength: Infinity }).replace(/^\w+ (?=\{)/, '')}\``;
}

interface Open {
  readonly name: string;
  readonly family: Family;
  open(): Promise<readonly [pool: DatabasePool, drop?: () => Promise<unknown>]>;
}

const BetterSqlite3Database = createRequire(import.meta.url)('better-sqlite3-13') as new (
  path: string,
  options: object,
) => BetterSqlite3;

const POOLS: readonly Open[] = [
  {
    name: 'createPostgresPool',
    family: 'PostgreSQL',
    open: async () => {
      const { url, drop } = await openSchema();
      return [createPostgresPool({ connectionString: url, max: 1 }), drop];
    },
  },
  {
    name: 'fromPgPool',
    family: 'PostgreSQL',
    open: async () => {
      const { url, drop } = await openSchema();
      return [fromPgPool(new Pool({ connectionString: url, max: 1 })), drop];
    },
  },
  {
    name: 'fromPostgresJs',
    family: 'PostgreSQL',
    open: async () => {
      const { url, schema, drop } = await openSchema();
      const address = new URL(url);
      address.search = '';
      return [fromPostgresJs(postgres(address.href, { max: 1, connection: { search_path: schema } })), drop];
    },
  },
  { name: 'fromPGlite', family: 'PostgreSQL', open: async () => [fromPGlite(await PGlite.create())] },
  { name: 'createSqlitePool', family: 'SQLite', open: async () => [createSqlitePool({ path: ':memory:' })] },
  { name: 'fromNodeSqlite', family: 'SQLite', open: async () => [fromNodeSqlite(new DatabaseSync(':memory:'))] },
  {
    name: 'fromBetterSqlite3',
    family: 'SQLite',
    open: async () => [fromBetterSqlite3(new BetterSqlite3Database(':memory:', {}))],
  },
  {
    name: 'fromMysql2Pool',
    family: 'MariaDB',
    open: async () => {
      const name = newName();
      const admin = await mysql.createConnection(mariadbUrl);
      await admin.query(`CREATE DATABASE ${name}`);
      const drop = async (): Promise<void> => {
        await admin.query(`DROP DATABASE ${name}`);
        await admin.end();
      };
      return [fromMysql2Pool(mysql.createPool(`${mariadbUrl}/${name}`), { max: 1 }), drop];
    },
  },
];

/** The fate of a value: `kept`, `refused`, or what it came back as. */
async function outcome(pool: DatabasePool, table: string, value: unknown): Promise<string> {
  try {
    await pool.query(`INSERT INTO ${table} (v) VALUES ($1)`, [value]);
  } catch (error) {
    // With an SQLSTATE it was the database, or we, and not the driver, who cannot know what is stored.
    expect(error).toMatchObject({
      code: expect.stringMatching(/^AMBIT_TX_(?:PARAMETER|STATEMENT_FAILED)$/),
      message: expect.stringMatching(/^(?:Parameter \$1 |A parameter |The database refused a statement)/),
      sqlState: expect.stringMatching(/^.{5}$/),
    });
    return 'refused';
  }
  const [row, ...others] = await pool.query<{ v: unknown }>(`DELETE FROM ${table} RETURNING v`);
  expect(others).toEqual([]);
  return isKept(value, row?.v) ? 'kept' : shown(row?.v);
}

/** The fate of each value in each column, by both, in all pools of a family that agree. */
async function outcomesOf({ family, open }: Open): Promise<ReadonlyMap<string, string>> {
  const [pool, drop] = await open();
  const outcomes = new Map<string, string>();
  if (family === 'PostgreSQL') await pool.query("CREATE TYPE mood AS ENUM ('happy', 'sad')");
  const tables = new Map<string, string>();
  for (const [column, { [family]: type }] of Object.entries(COLUMNS)) {
    if (type === undefined) continue;
    tables.set(column, `t${tables.size}`);
    await pool.query(`CREATE TABLE ${tables.get(column)} (v ${type})`);
  }
  for (const [written, value, ...columns] of VALUES) {
    for (const column of columns) {
      const table = tables.get(column);
      if (table !== undefined) outcomes.set(`${written} ${column}`, await outcome(pool, table, value));
    }
  }
  await pool.close();
  await drop?.();
  return outcomes;
}

const FAMILIES: readonly Family[] = ['PostgreSQL', 'SQLite', 'MariaDB'];

/** The first word of those that agree, and of the others with the names of their pools. */
function cellOf(family: Family, key: string, outcomes: readonly ReadonlyMap<string, string>[]): string {
  const pools = new Map<string, string[]>();
  for (const [index, { name }] of POOLS.entries()) {
    const what = POOLS[index]?.family === family ? outcomes[index]?.get(key) : undefined;
    if (what !== undefined) pools.set(what, [...(pools.get(what) ?? []), name]);
  }
  const [most, ...others] = [...pools].toSorted(([, one], [, other]) => other.length - one.length);
  return [most?.[0] ?? '', ...others.map(([what, names]) => `${what} (${names.join(', ')})`)].join('; ');
}

/** As the formatter writes it. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', String.raw`\|`)));
  const widths = (escaped[0] ?? []).map((_cell, index) => Math.max(...escaped.map((row) => row[index]?.length ?? 0)));
  const lines = escaped.map((row) => `| ${row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(' | ')} |`);
  const ruler = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], ruler, ...lines.slice(1)].join('\n');
}

function valuesTable(outcomes: readonly ReadonlyMap<string, string>[]): string {
  const rows = VALUES.flatMap(([written, , ...columns]) => {
    const byCells = new Map<string, string[]>();
    for (const column of columns) {
      const cells = FAMILIES.map((family) => cellOf(family, `${written} ${column}`, outcomes)).join('\n');
      byCells.set(cells, [...(byCells.get(cells) ?? []), column]);
    }
    const label = /^(?:an?|the) /.test(written) ? written : `\`${written}\``;
    return [...byCells].map(([cells, names]) => [label, names.join(', '), ...cells.split('\n')]);
  });
  // Values that become the same in the same columns are one row.
  const labels = new Map<string, string[]>();
  for (const [label = '', ...rest] of rows) {
    const key = rest.join('\n');
    labels.set(key, [...(labels.get(key) ?? []), label]);
  }
  const merged = [...labels].map(([key, all]) => [all.join(', '), ...key.split('\n')]);
  const changed = merged.filter(([, , ...cells]) => cells.some((cell) => cell !== '' && cell !== 'kept'));
  return tableOf([['value', 'column', ...FAMILIES], ...changed]);
}

const PAGE = join(import.meta.dirname, '../../docs/guides/values.md');

// Written again with `--update`.
test('the page says what becomes of each value, through each pool', async () => {
  const outcomes = await Promise.all(POOLS.map(outcomesOf));
  const page = readFileSync(PAGE, 'utf8').replace(/^\|[^]*?\|\n\n/m, () => `${valuesTable(outcomes)}\n\n`);
  await expect(page).toMatchFileSnapshot(PAGE);
}, 300_000);
