import type { Knex } from 'knex';

export const orders: Knex.Migration = {
  async up(db) {
    await db.schema.createTable('orders', (table) => {
      table.increments('id');
      table.text('product').notNullable();
      table.integer('quantity').notNullable();
    });
    await db.schema.createTable('stock', (table) => {
      table.text('product').primary();
      table.integer('level').notNullable();
    });
    await db('stock').insert({ product: 'apple', level: 10 });
  },
  async down(db) {
    await db.schema.dropTable('orders').dropTable('stock');
  },
};
