import { kyselyOn } from '@ambit/orm/kysely';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { Generated, Kysely } from 'kysely';

/** The columns of the tables that `migrations/` creates. */
interface Tables {
  orders: { id: Generated<number>; product: string; quantity: number };
  stock: { product: string; level: number };
}

export type Db = Kysely<Tables>;

/** Kysely on the pool, or on the connection of a transaction. */
export const createDb = (database: IDatabasePool | IConnection): Db => kyselyOn<Tables>(database);
