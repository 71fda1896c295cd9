import type { DatabaseConfig } from '../config/config.js';

/** Everything in which our SQL differs between the two databases. */
export interface ISqlDialect {
  readonly name: 'postgres' | 'sqlite';
  /** A FROM item over a JSON array parameter: each element is its column `value`. */
  readonly elements: (parameter: string) => string;
  /** Appended to a SELECT whose rows must not change before COMMIT. */
  readonly forUpdate: string;
  /** Whether `WITH` may contain INSERT and UPDATE, so that writes to several tables are one round trip. */
  readonly writesInWith: boolean;
}

const postgresDialect: ISqlDialect = {
  name: 'postgres',
  elements: (parameter) => `json_array_elements(CAST(${parameter} AS json))`,
  forUpdate: 'FOR UPDATE',
  writesInWith: true,
};

/** A transaction that writes has the whole file for itself, so no row needs a lock. */
const sqliteDialect: ISqlDialect = {
  name: 'sqlite',
  elements: (parameter) => `json_each(${parameter})`,
  forUpdate: '',
  // It would save nothing either: a statement is a call within this process.
  writesInWith: false,
};

/** The text of one statement for each dialect, written once: pools recognize statements by their text. */
export function sqlFor(write: (dialect: ISqlDialect) => string): Readonly<Record<ISqlDialect['name'], string>> {
  return { postgres: write(postgresDialect), sqlite: write(sqliteDialect) };
}

export function dialectOf(database: DatabaseConfig): ISqlDialect {
  return database.kind === 'postgres' ? postgresDialect : sqliteDialect;
}
