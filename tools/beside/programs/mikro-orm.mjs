import { mikroOrmDialect, mikroOrmOn } from '@ambit/orm/mikro-orm';
import { EntitySchema, MikroORM } from '@mikro-orm/core';
import { PostgreSqlDriver } from '@mikro-orm/postgresql';
import { postgres, prove, TABLE } from './transactions.mjs';

const Order = new EntitySchema({
  name: 'Order',
  tableName: TABLE,
  properties: { id: { type: 'string', primary: true } },
});
const pool = await postgres();
const options = {
  driver: PostgreSqlDriver,
  driverOptions: mikroOrmDialect(pool),
  dbName: 'test',
  ensureDatabase: false,
  entities: [Order],
};
// The constructor of 7, `initSync()` of 6, and `init()` of 5, each without connecting.
let orm = MikroORM.initSync?.(options) ?? new MikroORM(options);
if (!orm.em) orm = await MikroORM.init(options, false);
await prove(
  pool,
  async (connection, id) => {
    const em = mikroOrmOn(connection, orm);
    em.create(Order, { id });
    await em.flush();
  },
  (connection, id) =>
    mikroOrmOn(connection, orm).transactional(async (inner) => {
      inner.create(Order, { id });
      await inner.flush();
      throw new Error('undo');
    }),
);
await orm.close();
