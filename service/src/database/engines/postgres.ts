import { createPostgresPool, type PostgresPoolOptions } from '@ambit/transaction/postgres';
import { type PostgresConfig, placeOf } from '../../config/database.js';
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
  createPool: () => createPostgresPool(optionsOf(config)),
  createMigrationPool: () =>
    createPostgresPool({ ...optionsOf(config), max: 1, queryTimeoutMs: MIGRATION_STATEMENT_MS }),
});

function optionsOf(database: PostgresConfig): PostgresPoolOptions {
  const { url: connectionString, poolSize: max, prepare, acquireTimeoutMs, queryTimeoutMs } = database;
  const limits = { max, acquireTimeoutMs, queryTimeoutMs, closeTimeoutMs: CLOSE_TIMEOUT_MS };
  return { connectionString, applicationName: 'ambit-service', prepare, ...limits };
}
