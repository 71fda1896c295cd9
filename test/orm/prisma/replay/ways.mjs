// Three questions of a shop, by each way to ask a database in a transaction.
import { drizzleOn } from '@ambit/orm/drizzle';
import { kyselyOn } from '@ambit/orm/kysely';
import { prismaAdapter, prismaOn } from '@ambit/orm/prisma';
import { typeormDriver, typeormOn } from '@ambit/orm/typeorm';
import { PrismaPg } from '@prisma/adapter-pg';
import { eq } from 'drizzle-orm';
import { integer, jsonb, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { DataSource, EntitySchema } from 'typeorm';
import { PrismaClient } from '../generated/client.ts';

const ORDERS = `INSERT INTO orders VALUES ('00000000-0000-4000-8000-000000000001', 'tea', 'first', now())`;
export const POSTGRES_SCHEMA = [
  'CREATE TABLE products (id text PRIMARY KEY, price int NOT NULL, stock int CHECK (stock >= 0), discount jsonb, big bigint, until timestamptz)',
  'CREATE TABLE orders (id uuid PRIMARY KEY, product text NOT NULL REFERENCES products, reference text UNIQUE, at timestamptz)',
  `INSERT INTO products VALUES ('tea', 5, 10, '{"percent": 20}', 1, now()), ('salt', 2, 0, NULL, 9007199254740993, '2026-01-01T15:30:00Z')`,
  ORDERS,
];
export const MARIADB_SCHEMA = [
  'CREATE TABLE products (id varchar(20) PRIMARY KEY, price int NOT NULL, stock int CHECK (stock >= 0), discount json, until datetime(3))',
  'CREATE TABLE orders (id uuid PRIMARY KEY, product varchar(20) NOT NULL REFERENCES products (id), reference varchar(20) UNIQUE, at datetime(3))',
  `INSERT INTO products VALUES ('tea', 5, 10, '{"percent": 20}', now()), ('salt', 2, 0, NULL, '2026-01-01 15:30:00')`,
  ORDERS,
];

const products = pgTable('products', {
  id: text().primaryKey(),
  price: integer().notNull(),
  stock: integer(),
  discount: jsonb(),
  until: timestamp(),
});
const orders = pgTable('orders', {
  id: uuid().primaryKey(),
  product: text().notNull(),
  reference: text(),
  at: timestamp({ withTimezone: true }),
});

const Product = new EntitySchema({
  name: 'product',
  tableName: 'products',
  columns: {
    id: { type: 'varchar', primary: true },
    price: { type: 'int' },
    stock: { type: 'int', nullable: true },
    discount: { type: 'jsonb', nullable: true },
    until: { type: 'timestamptz', nullable: true },
  },
});
const Order = new EntitySchema({
  name: 'order',
  tableName: 'orders',
  columns: {
    id: { type: 'uuid', primary: true },
    product: { type: 'varchar' },
    reference: { type: 'varchar', nullable: true },
    at: { type: 'timestamptz', nullable: true },
  },
});

const byQueries = (connection) => ({
  product: async (id) => (await connection.query('SELECT * FROM products WHERE id = $1', [id]))[0],
  order: (row) =>
    connection.query('INSERT INTO orders (id, product, reference, at) VALUES ($1, $2, $3, $4)', [
      row.id,
      row.product,
      row.reference,
      row.at,
    ]),
  take: (id, count) => connection.query('UPDATE products SET stock = stock - $1 WHERE id = $2', [count, id]),
});

export const WAYS = ['query()', 'MariaDB', 'Kysely', 'Drizzle', 'TypeORM', 'Prisma'];

/** The ORMs as they are opened once in an application. Tables are in a schema of their own, which Prisma must know. */
export async function openWays(postgres, schema = 'public') {
  const dataSource = new DataSource({ type: 'postgres', entities: [Product, Order], driver: typeormDriver(postgres) });
  await dataSource.initialize();
  const prisma = new PrismaClient({ adapter: prismaAdapter(new PrismaPg({}, { schema }), postgres) });
  return {
    'query()': byQueries,
    MariaDB: byQueries,
    Kysely: (connection) => {
      const db = kyselyOn(connection);
      return {
        product: (id) => db.selectFrom('products').selectAll().where('id', '=', id).executeTakeFirst(),
        order: (row) => db.insertInto('orders').values(row).execute(),
        take: (id, count) =>
          db
            .updateTable('products')
            .set((eb) => ({ stock: eb('stock', '-', count) }))
            .where('id', '=', id)
            .execute(),
      };
    },
    Drizzle: (connection) => {
      const db = drizzleOn(connection);
      return {
        product: async (id) => (await db.select().from(products).where(eq(products.id, id)))[0],
        order: (row) => db.insert(orders).values(row),
        take: async (id, count) => {
          const [row] = await db.select().from(products).where(eq(products.id, id));
          await db
            .update(products)
            .set({ stock: row.stock - count })
            .where(eq(products.id, id));
        },
      };
    },
    TypeORM: (connection) => {
      const manager = typeormOn(connection, dataSource);
      return {
        product: (id) => manager.findOneBy(Product, { id }),
        order: (row) => manager.insert(Order, row),
        take: (id, count) => manager.decrement(Product, { id }, 'stock', count),
      };
    },
    Prisma: (connection) => {
      const client = prismaOn(connection, prisma);
      return {
        product: (id) => client.product.findUnique({ where: { id } }),
        order: ({ product, ...row }) => client.order.create({ data: { ...row, productId: product } }),
        take: (id, count) => client.product.update({ where: { id }, data: { stock: { decrement: count } } }),
      };
    },
  };
}
