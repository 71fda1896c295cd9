import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mariadb, openDatabaseOfServer, postgres, type TestDatabase } from './databases.js';
import { type Exit, ServiceProcess } from './service-process.js';

export type Environment = Readonly<Record<string, string>>;

/** The client programs of PostgreSQL are found by it. */
export const PATH = { PATH: process.env['PATH'] ?? '' };

/** A folder and databases of one test. */
export class BackupPlace {
  readonly folder = mkdtempSync(join(tmpdir(), 'ambit-backup-'));
  readonly #databases: TestDatabase[] = [];

  async newDatabase(open: () => Promise<TestDatabase> = openDatabaseOfServer): Promise<Environment> {
    const database = await open();
    this.#databases.push(database);
    return database.env;
  }

  async remove(): Promise<void> {
    rmSync(this.folder, { recursive: true });
    for (const database of this.#databases) await database.drop();
  }
}

export interface BackupKind {
  readonly name: string;
  readonly missing: boolean;
  open(place: BackupPlace): Promise<Environment>;
  /** As docs/service/backup.md describes it; returns the environment of the restored database. */
  restore(place: BackupPlace, file: string): Promise<Environment>;
}

export const backupKinds: readonly BackupKind[] = [
  {
    name: 'SQLite',
    missing: false,
    open: async ({ folder }) => ({ DATA_DIR: join(folder, 'data') }),
    restore: async ({ folder }, file) => {
      const DATA_DIR = join(folder, 'restored');
      mkdirSync(DATA_DIR);
      copyFileSync(file, join(DATA_DIR, 'ambit.db'));
      return { DATA_DIR };
    },
  },
  {
    name: 'PostgreSQL',
    missing: postgres.missing,
    open: (place) => place.newDatabase(),
    restore: async (place, file) => {
      const env = await place.newDatabase();
      execFileSync('pg_restore', ['--exit-on-error', '--no-owner', `--dbname=${env['DATABASE_URL']}`, file]);
      return env;
    },
  },
  {
    name: 'MariaDB',
    missing: mariadb.missing,
    open: (place) => place.newDatabase(mariadb.open),
    restore: async (place, file) => {
      const env = await place.newDatabase(mariadb.open);
      const { hostname, port, username, pathname } = new URL(env['DATABASE_URL'] ?? '');
      const server = [`--host=${hostname}`, `--port=${port || 3306}`, `--user=${username}`, '--protocol=tcp'];
      execFileSync('mariadb', [...server, pathname.slice(1)], { input: readFileSync(file) });
      return env;
    },
  },
];

export function backup(env: Environment, ...args: string[]): Promise<Exit> {
  return new ServiceProcess(env, { program: 'backup.js', args }).exit;
}
