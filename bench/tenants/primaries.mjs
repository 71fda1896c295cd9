import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { startServer } from '@ambit/host-contract';
import { addPrimary } from '../../examples/dist/tenants/create-tenant.js';
import { Directory } from '../../examples/dist/tenants/directory.js';

const SETTINGS = {
  wal_level: 'logical',
  fsync: 'on',
  max_connections: '1000',
  max_replication_slots: '20',
  max_wal_senders: '20',
  wal_retrieve_retry_interval: '100ms',
};
const MS_PER_TICK = 1000 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

// The servers are stopped on exit, also when this is interrupted.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));

/** PostgreSQL servers named p1, p2 ..., and the directory in the first one. */
export async function startPrimaries(count) {
  const servers = await Promise.all(Array.from({ length: count }, () => startServer(SETTINGS)));
  const [{ url: directoryUrl }] = servers;
  const directory = new Directory(directoryUrl);
  for (const [index, { port }] of servers.entries())
    await addPrimary(directory, { name: `p${index + 1}`, host: '127.0.0.1', port });
  const stop = async () => {
    await directory[Symbol.asyncDispose]();
    for (const server of servers) server.stop();
  };
  return { servers, directory, directoryUrl, stop };
}

/** An instance of the application in a process of its own. */
export async function startInstance(directoryUrl, env = {}) {
  const file = new URL('../../examples/dist/tenants/server.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, NODE_ENV: 'production', DIRECTORY_URL: directoryUrl, HOST: 'fastify', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const stop = async () => {
    child.kill();
    await once(child, 'exit');
  };
  return { pid: child.pid, port: Number(new URL(line.replace('Listening on ', '')).port), stop };
}

const pidOf = ({ data }) => Number(readFileSync(`${data}/postmaster.pid`, 'latin1').split('\n')[0]);

/** Milliseconds of CPU that a process and all its threads have used. */
export function cpuOf(pid) {
  const [user = 0, system = 0] = statOf(pid).slice(11, 13).map(Number);
  return (user + system) * MS_PER_TICK;
}

/** Milliseconds of CPU of a PostgreSQL server: of its processes, and of those that have exited. */
export function cpuOfServer(server) {
  const root = pidOf(server);
  const exited = statOf(root).slice(13, 15).map(Number);
  return processesOf(server).reduce((sum, pid) => sum + cpuOf(pid), (exited[0] + exited[1]) * MS_PER_TICK);
}

/** Bytes of memory of a PostgreSQL server; what processes share is counted once. */
export function memoryOfServer(server) {
  return processesOf(server).reduce((sum, pid) => {
    try {
      const [, kilobytes = 0] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
      return sum + 1024 * Number(kilobytes);
    } catch {
      // It has exited.
      return sum;
    }
  }, 0);
}

function processesOf(server) {
  const root = pidOf(server);
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return [root, ...pids.map(Number).filter((pid) => parentOf(pid) === root)];
}

const parentOf = (pid) => Number(statOf(pid)[1]);

/** The fields of /proc/<pid>/stat after the name of the program, the first of which is the state; none where it has exited. */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1).split(' ');
  } catch {
    return [];
  }
}
