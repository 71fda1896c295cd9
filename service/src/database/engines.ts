import type { DatabaseConfig } from '../config/database.js';
import type { IEngine, ISqlDialect } from './engine.js';
import { mariadbDialect, mariadbEngine } from './engines/mariadb.js';
import { postgresDialect, postgresEngine } from './engines/postgres.js';
import { sqliteDialect, sqliteEngine } from './engines/sqlite.js';

export function engineOf(database: DatabaseConfig): IEngine {
  if (database.kind === 'mariadb') return mariadbEngine(database);
  return database.kind === 'postgres' ? postgresEngine(database) : sqliteEngine(database);
}

/** The text of one statement for each dialect, written once: pools recognize statements by their text. */
export function sqlFor(write: (dialect: ISqlDialect) => string): Readonly<Record<ISqlDialect['name'], string>> {
  return { postgres: write(postgresDialect), sqlite: write(sqliteDialect), mariadb: write(mariadbDialect) };
}
