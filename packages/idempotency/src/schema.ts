import { databaseOf, type DatabaseName, type KeyTable } from '@ambit/transaction/databases';

/** The databases that keys can be in. */
export type IdempotencyDialect = DatabaseName;

/** Which table, in which kind of database. */
export interface IdempotencyTable {
  /** The SQL that the database speaks. */
  readonly dialect: IdempotencyDialect;
  /** Default `idempotency_keys`; on PostgreSQL it may name a schema, too, and on MariaDB a database: `shop.idempotency_keys`. */
  readonly table?: string;
}

/** The table, whose name is checked: it is part of every statement. */
export function tableOf({ dialect, table = 'idempotency_keys' }: IdempotencyTable): KeyTable {
  return databaseOf({ dialect, table }).keys(table);
}

/**
 * The statements that create the table of the keys and its index, for your own migrations; `createTable()` runs the same ones. On
 * MariaDB it is one statement, for a migration outside of transactions.
 *
 * @param options - the kind of database, and the name of the table
 * @returns one text with a semicolon after each statement; `splitStatements()` divides it
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { idempotencySchema } from '@ambit/idempotency';
 *
 * console.log(idempotencySchema({ dialect: 'postgres', table: 'shop.idempotency_keys' }));
 * ```
 */
export function idempotencySchema(options: IdempotencyTable): string {
  return tableOf(options).schema;
}
