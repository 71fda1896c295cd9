import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { link, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { backupSqlite } from '@ambit/transaction/sqlite';
import type { DatabaseConfig } from '../config/config.js';
import { ExplainedError } from '../problem.js';
import { sqliteFile } from './pool.js';

const MISSING =
  'was not found. Install the client programs of PostgreSQL (on Debian: apt-get install postgresql-client),' +
  " of the server's major version or a newer one";

/** Writes a copy of the database, which may be in use, to a file that does not exist yet. */
export async function backUp(database: DatabaseConfig, target: string): Promise<void> {
  if (database.kind === 'sqlite') await backupSqlite({ filename: sqliteFile(database.folder), to: target });
  else await dumpPostgres(database.url, resolve(target));
}

/** The dump is renamed to its final name when it is complete, and never replaces a file. */
async function dumpPostgres(url: string, target: string): Promise<void> {
  const partial = join(dirname(target), `.${basename(target)}.${randomUUID()}.partial`);
  const { address, password } = withoutPassword(url);
  try {
    await run('pg_dump', ['--format=custom', `--file=${partial}`, `--dbname=${address}`], password);
    // A line of its table of contents: "216; 1259 16390 TABLE public migration_lock postgres".
    if (!/^[^;].* TABLE \S+ migration_lock /m.test(await run('pg_restore', ['--list', partial]))) {
      throw new ExplainedError(
        'The database of DATABASE_URL has no tables of the service, so no backup was made. Correct DATABASE_URL',
        1,
      );
    }
    await link(partial, target).catch((error: unknown) => {
      throw isCode(error, 'EEXIST') ? new ExplainedError(`${target} exists already, and was left as it is`, 1) : error;
    });
  } finally {
    await rm(partial, { force: true });
  }
}

/** Resolves with what the program printed. */
async function run(program: 'pg_dump' | 'pg_restore', args: readonly string[], password?: string): Promise<string> {
  const env = password === undefined ? process.env : { ...process.env, PGPASSWORD: password };
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors] = [text(child.stdout), text(child.stderr)];
  const [code] = await once(child, 'close').catch((error: unknown) => {
    throw isCode(error, 'ENOENT') ? new ExplainedError(`${program} ${MISSING}`, 1) : error;
  });
  if (code !== 0) throw new ExplainedError((await errors).trim() || `${program} exited with ${String(code)}`, 1);
  return output;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}

/** The arguments of a program are visible to all users of the machine, its environment is not. */
function withoutPassword(url: string): { address: string; password: string | undefined } {
  const [, start = '', password, rest = ''] = /^(\w+:\/\/[^:@/?#]*):([^@/?#]*)(@.*)$/s.exec(url) ?? [];
  return password === undefined
    ? { address: url, password }
    : { address: start + rest, password: decodeURIComponent(password) };
}
