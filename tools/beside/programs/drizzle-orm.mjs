import { drizzleOn } from '@ambit/orm/drizzle';
import { drizzleOn as drizzleOnSqlite } from '@ambit/orm/drizzle/sqlite';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import * as pgCore from 'drizzle-orm/pg-core';
import * as sqliteCore from 'drizzle-orm/sqlite-core';
import { postgres, prove, TABLE } from './transactions.mjs';

const onPostgres = pgCore.pgTable(TABLE, { id: pgCore.varchar('id', { length: 20 }).primaryKey() });
const onSqlite = sqliteCore.sqliteTable(TABLE, { id: sqliteCore.text('id').primaryKey() });

for (const [on, table, pool] of [
  [drizzleOn, onPostgres, await postgres()],
  [drizzleOnSqlite, onSqlite, createSqlitePool({ path: ':memory:' })],
]) {
  await prove(
    pool,
    (connection, id) => on(connection).insert(table).values({ id }),
    (connection, id) =>
      on(connection).transaction(async (inner) => {
        await inner.insert(table).values({ id });
        throw new Error('undo');
      }),
  );
}
