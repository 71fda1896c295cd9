import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { engineOf } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { readStock } from '../src/commands.js';
import { App } from './support/app.js';
import { databaseKinds } from './support/databases.js';
import { type Exit, ServiceProcess } from './support/service-process.js';

const run = (env: Readonly<Record<string, string>>, ...args: string[]): Promise<Exit> =>
  new ServiceProcess(env, { program: 'stock.js', args }).exit;

test('the stock command refuses a database in memory, which no service would see', async () => {
  const { code, output } = await run({ DATA_DIR: ':memory:' }, 'set', 'apple', '2');
  expect([code, output]).toEqual([78, expect.stringContaining('DATA_DIR=:memory: is a separate database in each')]);
});

test('the stock command prints its usage, and exits with 64, without a connection to the database', async () => {
  const { code, output } = await run({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, 'sell', 'apple');
  expect(code).toBe(64);
  expect(output).toMatch(/^npm run stock -- list .*\nnpm run stock -- set .*\nnpm run stock -- untrack .*\n/);
});

test('the stock command creates no folder that DATA_DIR names by mistake', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'ambit-stock-'));
  const DATA_DIR = join(parent, 'mistyped');
  const { code, output } = await run({ DATA_DIR }, 'set', 'apple', '2');
  expect([code, output]).toEqual([
    1,
    expect.stringContaining(`There are no tables of the service: SQLite in ${DATA_DIR}`),
  ]);
  expect(readdirSync(parent)).toEqual([]);
  rmSync(parent, { recursive: true });
});

test.each([
  ...['-1', '1.5', 'many', '', '1000000001'].map((level) => ['set', 'apple', level]),
  ...['a\tb', '\u0000', '\u0085', '😀'.repeat(201), ''].map((product) => ['set', product, '1']),
  [],
  ['set'],
  ['set', 'apple'],
  ['set', 'apple', '1', '2'],
  ['list', 'apple'],
  ['untrack'],
])('the stock command refuses %j %j %j', (...args) => {
  expect(() => readStock(args.filter((arg) => arg !== undefined))).toThrow('npm run stock -- list');
});

describe.each(databaseKinds)('the stock command on $name', (kind) => {
  test.skipIf(kind.missing)('refuses a database of another program, and creates nothing in it', async () => {
    await using database = await kind.open();
    await using pool = engineOf(readConfig(database.env).database).createPool();
    await pool.query('CREATE TABLE migrations (id integer)');
    const { code, output } = await run(database.env, 'list');
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/^(?:There are no tables of the service|The database cannot be used): .*\n$/),
    ]);
    await expect(pool.query('SELECT product_id FROM stock')).rejects.toThrow();
  });

  test.skipIf(kind.missing)('sets a level that limits orders, shows what is left, and removes it again', async () => {
    await using database = await kind.open();
    await using app = await App.start('fastify', database.env);
    const order = async (quantity: number): Promise<number> => {
      const body = { items: [{ productId: 'apple', quantity }] };
      return (await app.request({ method: 'POST', path: '/api/orders', body })).status;
    };
    const ask = (...args: string[]) => readStock(args)(app.pool, app.container.resolve('ISqlDialect'));
    expect(await ask('list')).toEqual(['No product has a stock level: all can be ordered freely.']);
    expect(await run(database.env, 'set', 'apple', '5')).toEqual({ code: 0, output: 'apple\t5\n' });
    expect([await order(6), await order(2)]).toEqual([409, 201]);
    await ask('set', 'fig tree', '1000000000');
    expect(await ask('set', 'fig tree', '0')).toEqual(['fig tree\t0']);
    expect(await run(database.env, 'list')).toEqual({ code: 0, output: 'apple\t3\nfig tree\t0\n' });
    expect(await ask('untrack', 'apple')).toEqual(['apple is no longer tracked']);
    expect(await ask('untrack', 'apple')).toEqual(['apple was not tracked']);
    expect(await order(1000)).toBe(201);
  });
});
