import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const VERSIONS = '/usr/lib/postgresql';

/** The newest of Debian's packages; PGBIN names another folder. */
export function binaries() {
  const chosen = process.env['PGBIN'];
  if (chosen) return chosen;
  try {
    const [newest] = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
    if (newest) return join(VERSIONS, newest, 'bin');
  } catch {
    // Reported below, with the solution.
  }
  throw new Error(
    `This chaos test starts its own PostgreSQL, and there is no initdb under ${VERSIONS}. ` +
      'Install the package "postgresql" (Debian, Ubuntu), or set PGBIN to the folder of initdb and pg_ctl.',
  );
}

/** PostgreSQL refuses to run as root, so root starts it as the user that its package created. */
export function user() {
  if (process.getuid?.() !== 0) return {};
  const id = (/** @type {string} */ flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * @typedef {object} Cluster a separate PostgreSQL, so that crashing it affects nobody else
 * @property {number} port
 * @property {string} url of its one database
 * @property {(how: 'fast' | 'immediate') => Promise<void>} restart `immediate` is a crash of the database
 * @property {() => void} drop
 */

/** @returns {Promise<Cluster>} */
export async function startCluster() {
  const bin = binaries();
  const as = user();
  const folder = mkdtempSync(join(tmpdir(), 'chaos-postgres-'));
  if (as.uid !== undefined) chownSync(folder, as.uid, as.gid);
  const data = join(folder, 'data');
  const port = await freePort();
  const options = { ...as, cwd: folder };
  const settings = ['-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'].join(' ');
  // Without --log, pg_ctl's own output would stay open as long as the server runs.
  const control = (/** @type {string[]} */ ...command) =>
    run(join(bin, 'pg_ctl'), [...command, '-D', data, '-w', '-s', '-l', join(folder, 'log'), '-o', settings], options);

  const drop = () => {
    process.off('exit', drop);
    execFileSync(join(bin, 'pg_ctl'), ['stop', '-D', data, '-w', '-s', '-m', 'immediate'], options);
    rmSync(folder, { recursive: true, force: true });
  };

  await run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], options);
  await control('start');
  process.on('exit', drop);
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    restart: async (how) => void (await control('restart', '-m', how)),
    drop,
  };
}

/** @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}
