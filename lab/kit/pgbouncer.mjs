import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort, start, withReplaced } from './program.mjs';

const SHIPPED = resolve(import.meta.dirname, '../../deploy/pgbouncer.ini');
export const SERVER_CONNECTIONS = 4;

/**
 * PgBouncer as shipped, except that it listens only on this machine, needs no password, and has few connections.
 * @param {string} folder
 * @param {URL} database
 * @param {number} databasePort
 */
export async function startPgBouncer(folder, { username, password }, databasePort) {
  const port = await freePort();
  const version = /PgBouncer (\d+\.(\d+)\S*)/.exec(execFileSync('pgbouncer', ['--version'], { encoding: 'utf8' }));
  const tracksStatements = Number(version?.[2]) >= 21;
  const users = join(folder, 'users.txt');
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
  const settings = withReplaced(readFileSync(SHIPPED, 'utf8'), {
    'host=postgres port=5432': `host=127.0.0.1 port=${databasePort}`,
    'listen_addr = *': 'listen_addr = 127.0.0.1',
    'listen_port = 6432': `listen_port = ${port}`,
    'auth_type = scram-sha-256': `auth_type = trust\nadmin_users = ${decodeURIComponent(username)}`,
    '/pgbouncer_users': users,
    'default_pool_size = 20': `default_pool_size = ${SERVER_CONNECTIONS}`,
    ...(tracksStatements ? {} : { 'max_prepared_statements = 200': '' }),
  });
  writeFileSync(config, settings);
  // It refuses to run as root, so it runs as another user, who has to read these files.
  chmodSync(folder, 0o755);
  const program = await start(
    'pgbouncer',
    process.getuid?.() === 0 ? ['-u', 'nobody', config] : [config],
    /process up/,
  );
  return { program, port, version: version?.[1] ?? '', tracksStatements };
}
