import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const VERSIONS = '/usr/lib/postgresql';
const bin = process.env['PGBIN'] ?? newest();

/** Whether this machine can start PostgreSQL servers of a test's own. */
export const canStartServers = bin !== undefined && existsSync(join(bin, 'initdb'));

/** A PostgreSQL server that one test has to itself. */
export interface Server {
  readonly port: number;
  readonly url: string;
  /** Its data directory. */
  readonly data: string;
  /** Stops the server, and starts it again when `meanwhile` has returned. */
  restart(meanwhile?: () => void): Promise<void>;
  /** A hot standby of this server. */
  standby(): Promise<Server>;
  promote(): Promise<void>;
  /** Stops the server in its tracks, as a machine that hangs: connections are accepted, and nobody responds. */
  freeze(): void;
  thaw(): void;
  stop(): void;
}

/** `settings` are those of postgresql.conf. Each page has a checksum. A folder that is given belongs to the user of the server. */
export async function startServer(settings: Record<string, string> = {}, folder = ownFolder()): Promise<Server> {
  const data = join(folder, 'data');
  const options = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--data-checksums'];
  await run(command('initdb'), ['-D', data, ...options], as(folder));
  return start(folder, data, settings);
}

async function start(folder: string, data: string, settings: Record<string, string>): Promise<Server> {
  const port = await freePort();
  const given = Object.entries({ listen_addresses: '127.0.0.1', fsync: 'off', ...settings });
  const options = [`-p ${port} -k ${folder}`, ...given.map(([name, value]) => `-c ${name}=${value}`)].join(' ');
  const control = ['-D', data, '-w', '-s', '-l', join(folder, 'log')];
  const stop = (): void => {
    process.off('exit', stop);
    spawnSync(command('pg_ctl'), ['stop', ...control, '-m', 'immediate'], as(folder));
    rmSync(folder, { recursive: true, force: true });
  };
  const startAgain = async (): Promise<void> =>
    void (await run(command('pg_ctl'), ['start', ...control, '-o', options], as(folder)));
  await startAgain();
  process.on('exit', stop);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return {
    port,
    url,
    data,
    stop,
    restart: async (meanwhile) => {
      // It may have stopped by itself.
      await run(command('pg_ctl'), ['stop', ...control, '-m', 'fast'], as(folder)).catch(() => undefined);
      meanwhile?.();
      await startAgain();
    },
    freeze: () => void process.kill(pidOf(data), 'SIGSTOP'),
    thaw: () => void process.kill(pidOf(data), 'SIGCONT'),
    promote: async () => void (await run(command('pg_ctl'), ['promote', ...control], as(folder))),
    standby: async () => {
      const other = ownFolder();
      const copy = join(other, 'data');
      await run(command('pg_basebackup'), ['-d', url, '-D', copy, '-R', '-c', 'fast', '--no-sync'], as(other));
      return start(other, copy, settings);
    },
  };
}

function pidOf(data: string): number {
  const [pid] = readFileSync(join(data, 'postmaster.pid'), 'latin1').split('\n');
  return Number(pid);
}

function command(name: string): string {
  return join(bin ?? '', name);
}

/** PostgreSQL refuses to run as root, so root starts it as the user that its package made. */
function as(cwd: string): { cwd: string; uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return { cwd };
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { cwd, uid: id('-u'), gid: id('-g') };
}

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-postgres-'));
  const { uid, gid } = as(folder);
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

function newest(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const [version] = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a));
  return version === undefined ? undefined : join(VERSIONS, version, 'bin');
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
