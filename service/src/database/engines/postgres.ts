import { type DatabasePool, sqlStateOf } from '@ambit/transaction';
import { createPostgresPool, type PostgresPoolOptions } from '@ambit/transaction/postgres';
import type { PostgresConfig, ReplicatedConfig } from '../../config/config.js';
import {
  CLOSE_TIMEOUT_MS,
  type IEngine,
  type ISqlDialect,
  MIGRATION_STATEMENT_MS,
  rowsOf,
  SERVER,
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

const FOREIGN = `${FOREIGN_DATABASE} DATABASE_URL name a database that only the service uses`;
const ADVICE: Readonly<Record<string, string>> = {
  '28000': 'Correct the user in DATABASE_URL, or allow it in pg_hba.conf',
  '28P01': 'Correct the user and the password in DATABASE_URL',
  '3D000': 'Create the database, or correct its name in DATABASE_URL',
  '3F000': 'Create the schema, or correct the search_path of the user',
  '42501': 'Give the user of DATABASE_URL the right to create tables',
  '42703': FOREIGN,
  '42P07': FOREIGN,
  '25006': 'Let DATABASE_URL lead to the primary, or look at default_transaction_read_only',
};
/** A missing table or column. */
const ABSENT: ReadonlySet<unknown> = new Set(['42P01', '42703']);

export const postgresEngine = (config: PostgresConfig): IEngine => ({
  ...SERVER,
  dialect: postgresDialect,
  migrations: sharedMigrations,
  createPool: () => createPostgresPool(optionsOf(config, config.url)),
  createMigrationPool: () =>
    createPostgresPool({ ...optionsOf(config, config.url), max: 1, queryTimeoutMs: MIGRATION_STATEMENT_MS }),
  explain: (error) => {
    const server = { name: 'PostgreSQL', tls: 'sslmode, sslrootcert, sslcert and sslkey' };
    return explainServer(error, server, sqlStateOf(error) ?? '', ADVICE);
  },
  isAbsence: (error) => ABSENT.has(sqlStateOf(error)),
});

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
