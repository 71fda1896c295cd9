import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import typeorm from 'typeorm';
import { postgres, prove, TABLE } from './transactions.mjs';

const Order = new typeorm.EntitySchema({
  name: TABLE,
  columns: { id: { type: 'varchar', primary: true } },
});
const pool = await postgres();
const options = { type: 'postgres', driver: typeormDriver(pool), entities: [Order] };
// Before 0.3 it is a Connection.
const dataSource = typeorm.DataSource
  ? await new typeorm.DataSource(options).initialize()
  : await typeorm.createConnection(options);
await prove(
  pool,
  (connection, id) => typeormOn(connection, dataSource).save(Order, { id }),
  (connection, id) =>
    typeormOn(connection, dataSource).transaction(async (inner) => {
      await inner.insert(Order, { id });
      throw new Error('undo');
    }),
);
