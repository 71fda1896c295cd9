import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readCommand } from '../src/orders/stock-command.js';
import { App } from './support/app.js';
import { databaseKinds, type TestDatabase } from './support/databases.js';
import { type Exit, ServiceProcess } from './support/service-process.js';

test('the stock command refuses a database in memory, which no service would ever see', async () => {
  const args = ['set', 'apple', '2'];
  const { code, output } = await new ServiceProcess({ DATA_DIR: ':memory:' }, { program: 'stock.js', args }).exit;
  expect(code).toBe(78);
  expect(output).toBe(
    'The configuration is wrong:\n' +
      '  - DATA_DIR=:memory: is another database in each process: no service would see what is set here.' +
      ' Name the folder or the DATABASE_URL of the service\n',
  );
});

test('the stock command used wrongly says how to use it, and exits with 64, without asking the database', async () => {
  const nobody = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  const { code, output } = await new ServiceProcess(nobody, { program: 'stock.js', args: ['sell', 'apple'] }).exit;
  expect(code).toBe(64);
  expect(output).toMatch(/^npm run stock -- list .*\nnpm run stock -- set .*\nnpm run stock -- untrack .*\n$/);
});

describe.each(databaseKinds)('the stock command on $name', (kind) => {
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

    test('sets a level that orders keep to, shows what is left, and forgets it again', async () => {
      expect(await run('set', 'apple', '5')).toEqual({ code: 0, output: 'apple\t5\n' });
      expect((await order('apple', 6)).status).toBe(409);
      expect((await order('apple', 2)).status).toBe(201);
      expect(await run('list')).toEqual({ code: 0, output: 'apple\t3\n' });
      expect(await run('untrack', 'apple')).toEqual({ code: 0, output: 'apple is no longer tracked\n' });
      expect((await order('apple', 1000)).status).toBe(201);
    });

    describe('asked in this process', () => {
      const ask = async (...args: string[]): Promise<string[]> => readCommand(args)(app.pool);

      test('says so when no product is tracked', async () => {
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
