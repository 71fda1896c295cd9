import { execFile, execFileSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { postgresBinaries, postgresUser } from './postgres-programs.mjs';
import { freePort } from './program.mjs';

const run = promisify(execFile);

/**
 * A hot standby that replays what the primary streams to it.
 * @param {string} primaryUrl
 * @param {number} lagMs that it adds to its own
 * @returns {Promise<{ url: string, drop: () => void }>}
 */
export async function startStandby(primaryUrl, lagMs) {
  const as = postgresUser();
  const folder = mkdtempSync(join(tmpdir(), 'chaos-standby-'));
  if (as.uid !== undefined && as.gid !== undefined) chownSync(folder, as.uid, as.gid);
  const options = { ...as, cwd: folder };
  const data = join(folder, 'data');
  const port = await freePort();
  const settings = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c recovery_min_apply_delay=${lagMs}ms`;
  const control = (/** @type {string[]} */ ...command) => [
    ...command,
    '-D',
    data,
    '-w',
    '-s',
    '-l',
    join(folder, 'log'),
  ];

  const drop = () => {
    process.off('exit', drop);
    execFileSync(join(postgresBinaries(), 'pg_ctl'), control('stop', '-m', 'immediate'), options);
    rmSync(folder, { recursive: true, force: true });
  };

  await run(
    join(postgresBinaries(), 'pg_basebackup'),
    ['-d', primaryUrl, '-D', data, '-R', '-c', 'fast', '--no-sync'],
    options,
  );
  await run(join(postgresBinaries(), 'pg_ctl'), control('start', '-o', settings), options);
  process.on('exit', drop);
  return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, drop };
}
