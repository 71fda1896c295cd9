import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { placeOf, type SqliteConfig } from '../../config/database.js';
import { CLOSE_TIMEOUT_MS, type IEngine, type ISqlDialect, rowsOf, sharedMigrations, sharedSql } from '../engine.js';
import { explained } from '../unusable.js';

/** A transaction that writes has the whole file for itself, so no row needs a lock. */
export const sqliteDialect: ISqlDialect = {
  name: 'sqlite',
  text: (parameter) => parameter,
  ...sharedSql,
  rows: (parameter, columns) => rowsOf(`json_each(${parameter})`, columns),
  lookUp: (table) => `CROSS JOIN ${table}`,
  forUpdate: '',
  // It would save nothing either: a statement is a call within this process.
  writesInWith: false,
};

/** The file of the embedded database, or `:memory:`. */
const fileOf = ({ folder }: SqliteConfig): string => (folder === ':memory:' ? folder : join(folder, 'ambit.db'));

export function sqliteEngine(config: SqliteConfig): IEngine {
  const { folder, acquireTimeoutMs } = config;
  const isInMemory = folder === ':memory:';
  const engine: IEngine = {
    dialect: sqliteDialect,
    migrations: sharedMigrations,
    place: placeOf(config),
    advice:
      'Let the service read and write the file and its folder, make space on the disk, restore a backup where it is damaged, or let DATA_DIR name another folder',
    isInMemory,
    exists: () => existsSync(fileOf(config)),
    createPool: () => {
      try {
        if (!isInMemory) mkdirSync(folder, { recursive: true });
        return createSqlitePool({ path: fileOf(config), acquireTimeoutMs, closeTimeoutMs: CLOSE_TIMEOUT_MS });
      } catch (error) {
        throw explained(error, engine);
      }
    },
    createMigrationPool: () => undefined,
  };
  return engine;
}
