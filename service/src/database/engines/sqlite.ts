import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { sqlStateOf } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import type { SqliteConfig } from '../../config/config.js';
import { ExplainedError } from '../../problem.js';
import { CLOSE_TIMEOUT_MS, type IEngine, type ISqlDialect, rowsOf, sharedMigrations, sharedSql } from '../engine.js';
import { explained, FOREIGN_DATABASE, isConnectionFault, reasonOf } from '../unusable.js';

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

const ADVICE: Readonly<Record<string, string>> = {
  XX001: 'It is damaged, or not a database of SQLite. Restore a backup, or let DATA_DIR name another folder',
  '25006': 'Let the user of the service write to the file and to its folder',
  '58030': 'Let the user of the service read and write the file and its folder',
  '53000': 'Look at the free space and at the limits of the process',
  '53100': 'Make space on the disk',
  '55P03': 'Another program has the file to itself: stop that program',
};

/** SQLite has no codes for these. */
const FOREIGN = /\balready exists$|^no such column\b|\bhas no column named\b/;
const ABSENT = /^no such (?:table|column)\b/;

/** The file of the embedded database, or `:memory:`. */
export const fileOf = ({ folder }: SqliteConfig): string => (folder === ':memory:' ? folder : join(folder, 'ambit.db'));

export function sqliteEngine(config: SqliteConfig): IEngine {
  const { folder, acquireTimeoutMs } = config;
  const isInMemory = folder === ':memory:';
  const engine: IEngine = {
    dialect: sqliteDialect,
    migrations: sharedMigrations,
    place: { where: `in the folder ${folder}`, variable: 'DATA_DIR' },
    isInMemory,
    exists: () => existsSync(fileOf(config)),
    createPool: () => {
      if (!isInMemory) createFolder(folder);
      try {
        return createSqlitePool({ path: fileOf(config), acquireTimeoutMs, closeTimeoutMs: CLOSE_TIMEOUT_MS });
      } catch (error) {
        throw explained(error, engine);
      }
    },
    createMigrationPool: () => undefined,
    explain: (error) => {
      const [state, reason] = [sqlStateOf(error) ?? '', reasonOf(error)];
      const advice =
        ADVICE[state] ??
        (isConnectionFault(error) ? ADVICE['58030'] : undefined) ??
        (FOREIGN.test(reason) ? `${FOREIGN_DATABASE} DATA_DIR name another folder` : undefined);
      return advice && `The file ambit.db in ${folder} cannot be used: ${reason} (${state}). ${advice}.`;
    },
    isAbsence: (error) => ABSENT.test(reasonOf(error)),
  };
  return engine;
}

function createFolder(folder: string): void {
  try {
    createFolders(resolve(folder));
  } catch (cause) {
    const what = `The folder ${folder} of DATA_DIR cannot be created: ${reasonOf(cause)}`;
    throw new ExplainedError(`${what}. Name a folder in which the service may write.`, 1, { cause });
  }
}

/** `mkdirSync` with `recursive` never returns below `/proc`. */
function createFolders(folder: string): void {
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    createFolders(dirname(folder));
    mkdirSync(folder);
  }
}
