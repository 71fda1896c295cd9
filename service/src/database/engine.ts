import type { DatabasePool, IDatabasePool } from '@ambit/transaction';

/** Runs statements: the pool outside a transaction, the connection within one. */
export type Queryable = Pick<IDatabasePool, 'query'>;

/** How long shutdown waits for a statement whose client was disconnected before. */
export const CLOSE_TIMEOUT_MS = 1000;
/** A statement of a migration may take longer than one of a request. */
export const MIGRATION_STATEMENT_MS = 600_000;

/** The columns of rows that are sent as JSON. A text has at most 255 characters. */
export type JsonColumns = Readonly<Record<string, 'text' | 'integer'>>;

/** Everything in which the SQL of requests differs between the databases. */
export interface ISqlDialect {
  readonly name: 'postgres' | 'sqlite' | 'mariadb';
  /** A parameter that is a text. PostgreSQL keeps a statement prepared where each parameter has a type. */
  readonly text: (parameter: string) => string;
  /** A FROM item over a JSON array parameter, whose elements are objects: each is a row. */
  readonly rows: (parameter: string, columns: JsonColumns) => string;
  /** Joins a table whose rows are looked up by a key, in the sequence of the rows before it. */
  readonly lookUp: (table: string) => string;
  /** Changes a table by what is found in the rows of another FROM item. */
  readonly updateFrom: (update: { table: string; set: string; from: string; where: string }) => string;
  /** Appended to an INSERT: a row whose key is there gets the new value of the column. */
  readonly orReplace: (key: string, column: string) => string;
  /** Appended to a SELECT whose rows must not change before COMMIT. */
  readonly forUpdate: string;
  /** Whether `WITH` may contain INSERT and UPDATE, so that writes to several tables are one round trip. */
  readonly writesInWith: boolean;
}

/** How the tables are created. */
export interface MigrationRules {
  /** Creates the tables `migrations` and `migration_lock`, where they are missing. */
  readonly begin: readonly string[];
  /** Whether a transaction can create tables. Otherwise each statement of a migration can be repeated, as after a crash. */
  readonly areTransactional: boolean;
  /** Selects the tables of the service, `migrations` among them, where CREATE TABLE would take those of another program for its own. */
  readonly findTables?: string;
}

/** One database with its configuration: everything in which the databases differ, apart from the SQL of requests. */
export interface IEngine {
  readonly dialect: ISqlDialect;
  readonly migrations: MigrationRules;
  /** The place of the data, for messages. */
  readonly place: string;
  /** The advice where it cannot be used. */
  readonly advice: string;
  /** Within this process: no command can reach it. */
  readonly isInMemory: boolean;
  createPool(): DatabasePool;
  /** A pool whose statements may take longer than those of requests; undefined where the pool of requests has no limit. */
  createMigrationPool(): DatabasePool | undefined;
  /** Whether a database is there; only an engine that would create it knows before it is opened. */
  exists(): boolean;
}

/** The SQL that PostgreSQL and SQLite share. */
export const sharedSql: Pick<ISqlDialect, 'updateFrom' | 'orReplace'> = {
  updateFrom: ({ table, set, from, where }) => `UPDATE ${table} SET ${set} FROM ${from} WHERE ${where}`,
  orReplace: (key, column) => `ON CONFLICT (${key}) DO UPDATE SET ${column} = excluded.${column}`,
};

/** Selects the members of the JSON objects that a FROM item has in its column `value`. */
export function rowsOf(elements: string, columns: JsonColumns): string {
  const members = Object.entries(columns).map(([name, type]) => {
    const text = `value ->> '${name}'`;
    return `${type === 'text' ? text : `CAST(${text} AS ${type})`} AS ${name}`;
  });
  return `(SELECT ${members.join(', ')} FROM ${elements} AS elements)`;
}

export const sharedMigrations: MigrationRules = {
  areTransactional: true,
  begin: [
    'CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, checksum text NOT NULL)',
    'CREATE TABLE IF NOT EXISTS migration_lock (id integer PRIMARY KEY)',
    'INSERT INTO migration_lock (id) VALUES (1) ON CONFLICT (id) DO NOTHING',
  ],
};

/** Servers exist before the service, and every process reaches them. */
export const SERVER = {
  advice:
    'Check that it runs, and in DATABASE_URL the address, TLS, the user and its rights, and that the database is there and only for the service',
  isInMemory: false,
  exists: () => true,
};
