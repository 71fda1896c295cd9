import { drizzleOn } from '@ambit/orm/drizzle';
import { drizzleOn as drizzleOnSqlite } from '@ambit/orm/drizzle/sqlite';
import { kyselyOn } from '@ambit/orm/kysely';
import { pgClientOn } from '@ambit/orm/pg';
import type { ExecuteResult, IConnection, IDatabasePool, IPooledConnection } from '@ambit/transaction';
import { integer, pgTable } from 'drizzle-orm/pg-core';
import { integer as sqliteInteger, sqliteTable } from 'drizzle-orm/sqlite-core';
import type { PoolClient } from 'pg';

interface Shop {
  stock: { product: string; level: number };
}

declare const connection: IConnection;
declare const pool: IDatabasePool;
declare const pooled: IPooledConnection;

/** `exactly<A>()(b)(true)` compiles when the type of `b` is `A` and nothing else. */
const exactly =
  <A>() =>
  <B>(_value: B) =>
  (_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void => {};

// Rows have the library's own types, in a transaction and on a pool.
exactly<{ product: string; level: number }[]>()(
  await kyselyOn<Shop>(connection).selectFrom('stock').selectAll().execute(),
)(true);
exactly<{ level: number }[]>()(await kyselyOn<Shop>(pool).selectFrom('stock').select('level').execute())(true);
// error: not assignable to parameter of type
kyselyOn<Shop>(connection).selectFrom('nothing');
// error: is not assignable to type 'KyselyDialect
kyselyOn<Shop>(connection, { dialect: 'oracle' });
// error: is not assignable to parameter of type 'IConnection | IDatabasePool'
kyselyOn<Shop>(pooled);

const stock = pgTable('stock', { level: integer().notNull() });
exactly<{ level: number }[]>()(await drizzleOn(connection).select().from(stock))(true);

const sqliteStock = sqliteTable('stock', { level: sqliteInteger().notNull() });
exactly<ExecuteResult>()(await drizzleOnSqlite(connection).insert(sqliteStock).values({ level: 1 }).run())(true);

const client: PoolClient = pgClientOn(connection);
exactly<{ level: number }[]>()((await client.query<{ level: number }>('SELECT level FROM stock')).rows)(true);
// error: is not assignable to parameter of type 'IConnection | IDatabasePool'
pgClientOn(client);
