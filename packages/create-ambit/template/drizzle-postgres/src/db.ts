import { drizzleOn } from '@ambit/orm/drizzle';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';

/** The tables that `migrations/` creates. */
export const orders = pgTable('orders', {
  id: integer().primaryKey().generatedAlwaysAsIdentity(),
  product: text().notNull(),
  quantity: integer().notNull(),
});
export const stock = pgTable('stock', {
  product: text().primaryKey(),
  level: integer().notNull(),
});

export type Db = ReturnType<typeof createDb>;

/** Drizzle on the pool, or on the connection of a transaction. */
export const createDb = (database: IDatabasePool | IConnection) => drizzleOn(database);
