import type { StandardSchema } from '@ambit/transaction/extension';
import { databaseOf, type DatabaseName, type EventTable } from '@ambit/transaction/databases';

/** The databases that an outbox can be in. */
export type OutboxDialect = DatabaseName;

/** Which table, in which kind of database. */
export interface OutboxTable {
  /** The SQL that the database speaks. */
  readonly dialect: OutboxDialect;
  /** Default `outbox`; on PostgreSQL it may name a schema, on MariaDB a database: `shop.outbox`. */
  readonly table?: string;
}

/** Each topic with the schema of its payload. */
export type Topics = Readonly<Record<string, StandardSchema>>;

/** The table, and what may be published. */
export interface OutboxOptions<T extends Topics = Topics> extends OutboxTable {
  /**
   * Each topic with a schema of zod, valibot, arktype or another library of Standard Schema. The compiler then knows the payloads, and `publish()`
   * stores what the schema returns, and refuses other topics and payloads that do not fit. Default: any topic, any payload.
   */
  readonly topics?: T;
}

/** The table, whose name is checked: it is part of every statement. */
export function tableOf({ dialect, table = 'outbox' }: OutboxTable): EventTable {
  return databaseOf({ dialect, table }).events(table);
}

/**
 * The statements that create the table of an outbox and its indexes, for your own migrations; `createTable()` of the outbox
 * runs the same ones. Each index but the primary key has only the rows of one state, or begins with the state, so rows that
 * are delivered or dead cost nothing.
 *
 * @param options - the kind of database, and the name of the table
 * @returns one text with a semicolon after each statement; `splitStatements()` divides it
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { outboxSchema } from '@ambit/outbox';
 *
 * console.log(outboxSchema({ dialect: 'postgres', table: 'shop.outbox' }));
 * ```
 */
export function outboxSchema(options: OutboxTable): string {
  return tableOf(options).schema;
}
