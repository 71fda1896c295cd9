import { slonikOn } from '@ambit/orm/slonik';
import { sql } from 'slonik';
import { postgres, prove, TABLE } from './transactions.mjs';

const table = sql.identifier([TABLE]);
const insert = (methods, id) => methods.query(sql.unsafe`INSERT INTO ${table} VALUES (${id})`);
await prove(
  await postgres(),
  (connection, id) => insert(slonikOn(connection), id),
  (connection, id) =>
    slonikOn(connection).transaction(async (inner) => {
      await insert(inner, id);
      throw new Error('undo');
    }),
);
