import { knexOn } from '@ambit/orm/knex';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { Knex } from 'knex';
import type { Order } from './order.ts';

declare module 'knex/types/tables.js' {
  /** The columns of the tables that `migrations/` creates. */
  interface Tables {
    orders: Order;
    stock: { product: string; level: number };
  }
}

/** Knex on the pool, or on the connection of a transaction. */
export const createDb = (database: IDatabasePool | IConnection): Knex => knexOn(database);
