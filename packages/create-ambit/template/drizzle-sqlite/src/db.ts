import { drizzleOn } from '@ambit/orm/drizzle/sqlite';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

/** The tables that `migrations/` creates. */
export const orders = sqliteTable('orders', {
  id: integer().primaryKey(),
  product: text().notNull(),
  quantity: integer().notNull(),
});
export const stock = sqliteTable('stock', {
  product: text().primaryKey(),
  level: integer().notNull(),
});

export type Db = ReturnType<typeof createDb>;

/** Drizzle on the pool, or on the connection of a transaction. */
export const createDb = (database: IDatabasePool | IConnection) => drizzleOn(database);
