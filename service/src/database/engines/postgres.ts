import { type DatabasePool, sqlStateOf } from '@ambit/transaction';
import { createPostgresPool, type PostgresPoolOptions } from '@ambit/transaction/postgres';
import type { PostgresConfig, ReplicatedConfig } from '../../config/config.js';
import {
  CLOSE_TIMEOUT_MS,
  type IEngine,
  type ISqlDialect,
  MIGRATION_STATEMENT_MS,
  rowsOf,
  sharedMigrations,
  sharedSql,
} from '../engine.js';
import { explainServer, FOREIGN_DATABASE } from '../unusable.js';

export const postgresDialect: ISqlDialect = {
  name: 'postgres',
  text: (parameter) => `CAST(${parameter} AS text)`,
  ...sharedSql,
  rows: (parameter, columns) => rowsOf(`json_array_elements(CAST(${parameter} AS json))`, columns),
  lookUp: (table) => `JOIN ${table}`,
  forUpdate: 'FOR UPDATE',
  writesInWith: true,
};

const ADVICE: Readonly<Record<string, string>> = {
  '28000': 'Correct the user in DATABASE_URL, or allow it in pg_hba.conf',
  '28P01': 'Correct the user and the password in DATABASE_URL',
  '3D000': 'Create the database, or correct its name in DATABASE_URL',
  '3F000': 'Create the schema, or correct the search_path of the user',
  '42501': 'Give the user of DATABASE_URL the right to create tables',
  '42703': `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`,
  '42P07': `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`,
  '25006': 'Let DATABASE_URL lead to the primary, or look at default_transaction_read_only',
};
/** A missing table or column. */
const ABSENT: ReadonlySet<unknown> = new Set(['42P01', '42703']);
const NO_PROGRAMS =
  'Install the client programs of PostgreSQL (on Debian: apt-get install postgresql-client),' +
  " of the server's major version or a newer one";

export class PostgresEngine implements IEngine {
  readonly dialect = postgresDialect;
  readonly migrations = sharedMigrations;
  readonly place = { where: 'at DATABASE_URL', variable: 'DATABASE_URL' };
  readonly isInMemory = false;

  constructor(private readonly config: PostgresConfig) {}

  createPool(): DatabasePool {
    return createPostgresPool(optionsOf(this.config, this.config.url));
  }

  createMigrationPool(): DatabasePool {
    const options = optionsOf(this.config, this.config.url);
    return createPostgresPool({ ...options, max: 1, queryTimeoutMs: MIGRATION_STATEMENT_MS });
  }

  exists(): boolean {
    return true;
  }

  explain(error: unknown): string | undefined {
    const state = sqlStateOf(error) ?? '';
    return explainServer(error, { name: 'PostgreSQL', tls: 'sslmode, sslrootcert, sslcert and sslkey' }, state, ADVICE);
  }

  isAbsence(error: unknown): boolean {
    return ABSENT.has(sqlStateOf(error));
  }

  async backUp(target: string): Promise<void> {
    const { dumpTo, noTablesToDump, run } = await import('../dump.js');
    const { address, secrets } = withoutPassword(this.config.url);
    await dumpTo(target, async (file) => {
      const args = ['--format=custom', `--file=${file}`, `--dbname=${address}`];
      await run({ program: 'pg_dump', args, secrets, missing: NO_PROGRAMS });
      const contents = await run({ program: 'pg_restore', args: ['--list', file], missing: NO_PROGRAMS });
      // A line of its table of contents: "216; 1259 16390 TABLE public migration_lock postgres".
      if (!/^[^;].* TABLE \S+ migration_lock /m.test(contents)) throw noTablesToDump();
    });
  }
}

function withoutPassword(url: string): { address: string; secrets: Readonly<Record<string, string>> } {
  const [, start = '', password, rest = ''] = /^(\w+:\/\/[^:@/?#]*):([^@/?#]*)(@.*)$/s.exec(url) ?? [];
  return password === undefined
    ? { address: url, secrets: {} }
    : { address: start + rest, secrets: { PGPASSWORD: decodeURIComponent(password) } };
}

/** Every one of them also accepts a server that has become the primary meanwhile: it is not used, and asked now and then. */
export function createReplicaPools(database: ReplicatedConfig): readonly DatabasePool[] {
  return database.replicas.urls.map((url) =>
    createPostgresPool({ ...optionsOf(database, url), targetSessionAttrs: 'prefer-standby' }),
  );
}

function optionsOf(database: PostgresConfig, connectionString: string): PostgresPoolOptions {
  return {
    connectionString,
    applicationName: 'ambit-service',
    max: database.poolSize,
    prepare: database.prepare,
    acquireTimeoutMs: database.acquireTimeoutMs,
    queryTimeoutMs: database.queryTimeoutMs,
    closeTimeoutMs: CLOSE_TIMEOUT_MS,
  };
}
