import { checkTable } from '@ambit/transaction/extension';

/** The databases that keys can be in. */
export type IdempotencyDialect = 'postgres' | 'sqlite';

/** Which table, in which kind of database. */
export interface IdempotencyTable {
  /** The SQL that the database speaks. */
  readonly dialect: IdempotencyDialect;
  /** Default `idempotency_keys`; on PostgreSQL it may name a schema, too: `shop.idempotency_keys`. */
  readonly table?: string;
}

/** The table with its default name, checked: the name is part of every statement. */
export function withDefaults({ dialect, table = 'idempotency_keys' }: IdempotencyTable): Required<IdempotencyTable> {
  checkTable({ dialect, table });
  return { dialect, table };
}

/**
 * The statements that create the table of the keys and its index, for your own migrations; `createTable()` runs the same ones.
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
  const { table } = withDefaults(options);
  const name = table.slice(table.indexOf('.') + 1);
  // Milliseconds since 1970, so that every database can compare them.
  return `CREATE TABLE ${table} (
  key text PRIMARY KEY,
  fingerprint text NOT NULL,
  status integer,
  body text,
  created_at bigint NOT NULL,
  headers text
);
CREATE INDEX ${name}_by_age ON ${table} (created_at);
`;
}
