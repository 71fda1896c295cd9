import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createConnection } from 'mysql2/promise';
import { freePort } from './cluster.js';

const START_MS = 60_000;
export const canStartMariadb = (): boolean => spawnSync('mariadbd', ['--version']).status === 0;

/** A MariaDB that one test has to itself, for settings that are those of the whole server; its user is root. */
export interface OwnMariadb {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startMariadb(settings: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<OwnMariadb> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-mariadb-'));
  const common = ['--no-defaults', `--datadir=${join(folder, 'data')}`, `--user=${userInfo().username}`];
  const install = [...common, '--auth-root-authentication-method=normal', '--skip-test-db'];
  await promisify(execFile)('mariadb-install-db', install);
  const port = await freePort();
  const places = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${join(folder, 's')}`, `--tmpdir=${folder}`];
  const server = spawn('mariadbd', [...common, ...places, ...settings], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  });
  const kill = (): void => void server.kill('SIGKILL');
  process.on('exit', kill);
  const stop = async (): Promise<void> => {
    process.off('exit', kill);
    const exited = once(server, 'exit');
    kill();
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `mysql://root@127.0.0.1:${port}/shop`;
  for (const deadline = performance.now() + START_MS; ; await pause(50)) {
    try {
      const root = await createConnection({ uri: url.replace('/shop', '/mysql') });
      await root.query('CREATE DATABASE shop');
      await root.end();
      return { url, stop };
    } catch (error) {
      if (performance.now() < deadline) continue;
      await stop();
      throw error;
    }
  }
}
