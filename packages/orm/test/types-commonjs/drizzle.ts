// In CommonJS `drizzle-orm` has declarations of its own, whose classes have private members: those of the ES module do not fit.
import { drizzleOn } from '@ambit/orm/drizzle';
import type { IConnection } from '@ambit/transaction';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { integer, pgTable } from 'drizzle-orm/pg-core';

declare const connection: IConnection;

const schema = { stock: pgTable('stock', { level: integer().notNull() }) };

// error: is not assignable to type
export const plain: NodePgDatabase<typeof schema> = drizzleOn(connection, { schema });

const db = drizzleOn(connection, { schema }) as unknown as NodePgDatabase<typeof schema>;
export const added: Promise<{ level: number }[]> = db.insert(schema.stock).values({ level: 1 }).returning();
export const found: Promise<{ level: number } | undefined> = db.query.stock.findFirst();
// error: is not assignable to type
export const wrong: Promise<{ level: string }[]> = db.select().from(schema.stock);
