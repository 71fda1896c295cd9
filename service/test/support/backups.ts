import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { mariadb, openDatabaseOfServer, postgres, type TestDatabase } from './databases.js';
import { type Exit, ServiceProcess } from './service-process.js';

export type Environment = Readonly<Record<string, string>>;

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
  /** As docs/service/backup.md describes it. */
  backUp(env: Environment, file: string): unknown;
  /** As docs/service/backup.md describes it; returns the environment of the restored database. */
  restore(place: BackupPlace, file: string): Promise<Environment>;
}

export const backupKinds: readonly BackupKind[] = [
  {
    name: 'SQLite',
    missing: false,
    open: async ({ folder }) => ({ DATA_DIR: join(folder, 'data') }),
    backUp: async (env, file) => expect((await backup(env, file)).code).toBe(0),
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
    backUp: (env, file) => run('pg_dump', '--format=custom', `--file=${file}`, env['DATABASE_URL'] ?? ''),
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
    backUp: (env, file) => {
      const [server, name] = serverOf(env);
      return run('mariadb-dump', ...server, '--single-transaction', `--result-file=${file}`, name);
    },
    restore: async (place, file) => {
      const env = await place.newDatabase(mariadb.open);
      const [server, name] = serverOf(env);
      execFileSync('mariadb', [...server, name], { input: readFileSync(file) });
      return env;
    },
  },
];

function serverOf(env: Environment): [args: string[], database: string] {
  const { hostname, port, username, pathname } = new URL(env['DATABASE_URL'] ?? '');
  const args = [`--host=${hostname}`, `--port=${port || 3306}`, `--user=${username}`, '--protocol=tcp'];
  return [args, pathname.slice(1)];
}

/** Not in the same turn: the clients of the service are in this process. */
const run = (program: string, ...args: string[]): Promise<unknown> => promisify(execFile)(program, args);

export function backup(env: Environment, ...args: string[]): Promise<Exit> {
  return new ServiceProcess(env, { program: 'backup.js', args }).exit;
}
