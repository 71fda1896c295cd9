import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { freePort } from './support/ports.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

let npm: ChildProcess | undefined;
/** Kills npm and all processes that it has started. */
afterEach(() => {
  try {
    if (npm?.pid !== undefined) process.kill(-npm.pid, 'SIGKILL');
  } catch {
    // All have exited.
  }
});

/** What `npm run <script>` prints, up to the line that matches. */
async function started(script: string, env: Record<string, string>, ready: RegExp): Promise<ChildProcess> {
  const child = spawn('npm', ['run', script], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  npm = child;
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += String(text);
    if (ready.test(output)) return child;
  }
  throw new Error(`npm run ${script} exited before it was ready:\n${output}`);
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const opened = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return opened;
}

/** Whether npm or a process that it has started still runs. */
function isRunning({ pid = 0 }: ChildProcess): boolean {
  try {
    return process.kill(-pid, 0);
  } catch {
    return false;
  }
}

test.each(['start', 'simplified-express'])('SIGTERM to "npm run %s" stops the server', async (script) => {
  const port = await freePort();
  const env = { PORT: String(port), DATA_DIR: ':memory:' };
  const child = await started(script, env, new RegExp(`\\b${port}\\b`));
  child.stdout?.resume();
  expect(await isOpen(port)).toBe(true);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
  // Not the port: another test may have got it by now.
  await expect.poll(() => isRunning(child)).toBe(false);
});

// Without exec some shells, Debian's sh among them, stay the parent of the command and keep the signal to themselves.
// The part after || is for Windows, whose shell has no exec.
test.each(['start', 'simplified-express', 'simplified-fastify'])('"npm run %s" replaces the shell', (name) => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  expect(scripts[name]).toMatch(/^exec (node [\w/.-]+) \|\| \1$/);
  expect(scripts[`pre${name}`]).toMatch(/^tsc -b /);
});

test('git ignores what "npm start" leaves behind, and not the folders of that name below', () => {
  const ignored = (path: string): boolean =>
    spawnSync('git', ['check-ignore', '--quiet', '--no-index', path], { cwd: ROOT }).status === 0;
  expect(['data/ambit.db', 'service/src/data/file.ts'].map(ignored)).toEqual([true, false]);
});
