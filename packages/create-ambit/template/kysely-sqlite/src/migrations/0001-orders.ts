import type { Migration } from 'kysely';

export const orders: Migration = {
  async up(db) {
    await db.schema
      .createTable('orders')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('product', 'text', (column) => column.notNull())
      .addColumn('quantity', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('stock')
      .addColumn('product', 'text', (column) => column.primaryKey())
      .addColumn('level', 'integer', (column) => column.notNull())
      .execute();
    await db.insertInto('stock').values({ product: 'apple', level: 10 }).execute();
  },
};
