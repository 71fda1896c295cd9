import { execFile, execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { postgresBinaries, postgresUser } from './postgres-programs.mjs';
import { freePort } from './program.mjs';

const run = promisify(execFile);

/** A separate PostgreSQL, so that crashing it affects nobody else. */
export async function startCluster() {
  const bin = postgresBinaries();
  const as = postgresUser();
  const folder = mkdtempSync(join(tmpdir(), 'chaos-postgres-'));
  if (as.uid !== undefined && as.gid !== undefined) chownSync(folder, as.uid, as.gid);
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
    restart: async (/** @type {'fast' | 'immediate'} */ how) => void (await control('restart', '-m', how)),
    drop,
  };
}
