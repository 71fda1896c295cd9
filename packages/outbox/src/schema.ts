import { checkTable } from '@ambit/transaction/extension';

/** The databases that an outbox can be in. */
export type OutboxDialect = 'postgres' | 'sqlite';

/** Which table, in which kind of database. */
export interface OutboxTable {
  /** The SQL that the database speaks. */
  readonly dialect: OutboxDialect;
  /** Default `outbox`; on PostgreSQL it may name a schema, too: `shop.outbox`. */
  readonly table?: string;
}

/** The table with its default name, checked: the name is part of every statement. */
export function withDefaults({ dialect, table = 'outbox' }: OutboxTable): Required<OutboxTable> {
  checkTable({ dialect, table });
  return { dialect, table };
}

/**
 * The statements that create the table of an outbox and its indexes, for your own migrations; `createTable()` of the outbox
 * runs the same ones. Each index but the primary key has only the rows of one state, so rows that are delivered or dead
 * cost nothing.
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
  const { dialect, table } = withDefaults(options);
  const name = table.slice(table.indexOf('.') + 1);
  const isPostgres = dialect === 'postgres';
  const position = isPostgres ? 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY' : 'INTEGER PRIMARY KEY AUTOINCREMENT';
  // Space on each page, so that a claim changes its row in place and no index; and a vacuum long before a fifth is garbage.
  const storage = isPostgres ? ' WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)' : '';
  return `CREATE TABLE ${table} (
  position ${position},
  id text NOT NULL,
  topic text NOT NULL,
  key text,
  payload text NOT NULL,
  created_at bigint NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'dead')),
  attempts integer NOT NULL DEFAULT 0,
  due_at bigint,
  claimed_by text,
  claimed_until bigint,
  settled_at bigint,
  last_error text
)${storage};
CREATE INDEX ${name}_fresh ON ${table} (position) WHERE state = 'pending' AND due_at IS NULL;
CREATE INDEX ${name}_delayed ON ${table} (due_at, position) WHERE state = 'pending' AND due_at IS NOT NULL;
CREATE INDEX ${name}_by_key ON ${table} (key, position) WHERE state = 'pending' AND key IS NOT NULL;
CREATE INDEX ${name}_dead ON ${table} (position) WHERE state = 'dead';
CREATE INDEX ${name}_delivered ON ${table} (settled_at) WHERE state = 'delivered';
`;
}
