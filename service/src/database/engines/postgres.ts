import type { DatabasePool } from '@ambit/transaction';
import { createPostgresPool, type PostgresPoolOptions } from '@ambit/transaction/postgres';
import { type PostgresConfig, placeOf, type ReplicatedConfig } from '../../config/database.js';
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

export const postgresDialect: ISqlDialect = {
  name: 'postgres',
  text: (parameter) => `CAST(${parameter} AS text)`,
  ...sharedSql,
  rows: (parameter, columns) => rowsOf(`json_array_elements(CAST(${parameter} AS json))`, columns),
  lookUp: (table) => `JOIN ${table}`,
  forUpdate: 'FOR UPDATE',
  writesInWith: true,
};

export const postgresEngine = (config: PostgresConfig): IEngine => ({
  ...SERVER,
  place: placeOf(config),
  dialect: postgresDialect,
  migrations: sharedMigrations,
  createPool: () => createPostgresPool(optionsOf(config, config.url)),
  createMigrationPool: () =>
    createPostgresPool({ ...optionsOf(config, config.url), max: 1, queryTimeoutMs: MIGRATION_STATEMENT_MS }),
});

/** Every one of them also accepts a server that has become the primary meanwhile: it is not used, and asked now and then. */
export function createReplicaPools(database: ReplicatedConfig): readonly DatabasePool[] {
  return database.replicas.urls.map((url) =>
    createPostgresPool({ ...optionsOf(database, url), targetSessionAttrs: 'prefer-standby' }),
  );
}

function optionsOf(database: PostgresConfig, connectionString: string): PostgresPoolOptions {
  const { poolSize: max, prepare, acquireTimeoutMs, queryTimeoutMs } = database;
  const limits = { max, acquireTimeoutMs, queryTimeoutMs, closeTimeoutMs: CLOSE_TIMEOUT_MS };
  return { connectionString, applicationName: 'ambit-service', prepare, ...limits };
}
