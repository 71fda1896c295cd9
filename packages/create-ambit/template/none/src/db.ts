import type { IConnection, IDatabasePool } from '@ambit/transaction';

export type Db = IDatabasePool | IConnection;

/** SQL goes to the pool, or to the connection of a transaction; a query builder would be made here. */
export const createDb = (database: Db): Db => database;
