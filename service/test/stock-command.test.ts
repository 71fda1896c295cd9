import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPool } from '../src/database/engines.js';
import { readConfig } from '../src/index.js';
import { readCommand } from '../src/orders/stock-command.js';
import { App } from './support/app.js';
import { databaseKinds, type TestDatabase } from './support/databases.js';
import { type Exit, ServiceProcess } from './support/service-process.js';

test('the stock command refuses a database in memory, which no service would see', async () => {
  const args = ['set', 'apple', '2'];
  const { code, output } = await new ServiceProcess({ DATA_DIR: ':memory:' }, { program: 'stock.js', args }).exit;
  expect(code).toBe(78);
  expect(output).toBe(
    'The configuration is wrong:\n' +
      '  - DATA_DIR=:memory: is a separate database in each process: no service would see the stock level.' +
      ' Name the folder or the DATABASE_URL of the service\n',
  );
});

test('the stock command prints its usage, and exits with 64, without a connection to the database', async () => {
  const nobody = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  const { code, output } = await new ServiceProcess(nobody, { program: 'stock.js', args: ['sell', 'apple'] }).exit;
  expect(code).toBe(64);
  expect(output).toMatch(/^npm run stock -- list .*\nnpm run stock -- set .*\nnpm run stock -- untrack .*\n$/);
});

const COMMANDS = [['list'], ['set', 'apple', '2'], ['untrack', 'apple']];

test.each(COMMANDS)('the stock command creates no folder that DATA_DIR names by mistake: %s', async (...args) => {
  const parent = mkdtempSync(join(tmpdir(), 'ambit-stock-'));
  const DATA_DIR = join(parent, 'mistyped');
  const { code, output } = await new ServiceProcess({ DATA_DIR }, { program: 'stock.js', args: [...args] }).exit;
  expect([code, output]).toEqual([
    1,
    `There is no database of the service in the folder ${DATA_DIR}.` +
      ' Correct DATA_DIR, or start the service once: it creates the tables.\n',
  ]);
  expect(readdirSync(parent)).toEqual([]);
  rmSync(parent, { recursive: true });
});

describe.each(databaseKinds)('the stock command on $name', (kind) => {
  test.skipIf(kind.missing).each([
    ['is empty', 'SELECT 1'],
    ['belongs to another program', 'CREATE TABLE migrations (id integer)'],
  ])('refuses a database that %s, and creates nothing in it', async (_, sql) => {
    await using database = await kind.open();
    await using pool = createPool(readConfig(database.env).database);
    await pool.query(sql);
    for (const args of COMMANDS) {
      const { code, output } = await new ServiceProcess(database.env, { program: 'stock.js', args }).exit;
      expect([code, output]).toEqual([1, expect.stringMatching(/^There is no database of the service .*\n$/)]);
    }
    await expect(pool.query('SELECT product_id FROM stock')).rejects.toThrow();
  });
  describe.skipIf(kind.missing)('beside a running service', () => {
    let database: TestDatabase;
    let app: App;

    beforeAll(async () => {
      database = await kind.open();
      app = await App.start('fastify', database.env);
    });

    afterAll(async () => {
      await app.stop();
      await database.drop();
    });

    const run = (...args: string[]): Promise<Exit> =>
      new ServiceProcess(database.env, { program: 'stock.js', args }).exit;
    const order = (productId: string, quantity: number) =>
      app.request({ method: 'POST', path: '/api/orders', body: { items: [{ productId, quantity }] } });

    test('sets a level that limits orders, shows what is left, and removes it again', async () => {
      expect(await run('set', 'apple', '5')).toEqual({ code: 0, output: 'apple\t5\n' });
      expect((await order('apple', 6)).status).toBe(409);
      expect((await order('apple', 2)).status).toBe(201);
      expect(await run('list')).toEqual({ code: 0, output: 'apple\t3\n' });
      expect(await run('untrack', 'apple')).toEqual({ code: 0, output: 'apple is no longer tracked\n' });
      expect((await order('apple', 1000)).status).toBe(201);
    });

    describe('within this process', () => {
      const ask = async (...args: string[]): Promise<string[]> =>
        readCommand(args)(app.pool, app.container.resolve('ISqlDialect'));

      test('reports that no product is tracked', async () => {
        expect(await ask('list')).toEqual(['No product has a stock level: all can be ordered freely.']);
      });

      test('lists products in order, with what was set last', async () => {
        await ask('set', 'pear', '1');
        await ask('set', 'fig tree', '0');
        await ask('set', 'pear', '1000000000');
        expect(await ask('list')).toEqual(['fig tree\t0', 'pear\t1000000000']);
        expect(await ask('untrack', 'pear')).toEqual(['pear is no longer tracked']);
        expect(await ask('untrack', 'pear')).toEqual(['pear was not tracked']);
        await ask('untrack', 'fig tree');
      });

      test.each(['-1', '1.5', 'many', '', '1000000001', '1e3'])('refuses the level %j', async (level) => {
        await expect(ask('set', 'apple', level)).rejects.toThrow(
          'The level must be a whole number from 0 to 1000000000',
        );
      });

      test.each(['a\tb', 'a\nb', '\u0000', 'a\u007f', '\u0085'])('refuses the product id %j', async (productId) => {
        await expect(ask('set', productId, '1')).rejects.toThrow('A product id must not contain tabs, line breaks');
      });

      test('refuses a product that no order can name', async () => {
        await expect(ask('set', '😀'.repeat(201), '1')).rejects.toThrow('A product id has at most 200 characters');
        expect(await ask('set', '😀'.repeat(200), '1')).toHaveLength(1);
        await ask('untrack', '😀'.repeat(200));
      });

      test.each([
        [],
        ['set'],
        ['set', 'apple'],
        ['set', 'apple', '1', '2'],
        ['list', 'apple'],
        ['untrack'],
        ['set', '', '1'],
      ])('does not know %j %j %j %j', async (...args) => {
        await expect(ask(...args.filter((arg) => arg !== undefined))).rejects.toThrow('npm run stock -- list');
      });
    });
  });
});
