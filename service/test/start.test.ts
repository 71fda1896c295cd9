import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { hasSubscribers } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { readConfig, startService } from '../src/index.js';
import { accepting, freePort, listening } from './support/ports.js';
import { ServiceProcess } from './support/service-process.js';

test('the entry point of the service loads no framework before one is chosen', () => {
  const program = `
    import { Module } from 'node:module';
    await import('${new URL('../dist/index.js', import.meta.url).href}');
    const frameworks = /node_modules\\/(express|fastify)\\//;
    console.log(Object.keys(Module._cache).filter((file) => frameworks.test(file)).length);`;
  expect(execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })).toBe('0\n');
});

describe('the service', () => {
  describe.each(HOST_VARIANTS)('reports in one line that it cannot listen, with %s', (HOST_VARIANT) => {
    const failsToListen = async (env: Record<string, string>): Promise<unknown[]> => {
      const { code, output } = await new ServiceProcess({ HOST_VARIANT, DATA_DIR: ':memory:', ...env }).exit;
      return [code, JSON.parse(output)];
    };
    const failure = (HOST: string, PORT: string): unknown => [
      1,
      { level: 50, time: expect.any(String), msg: expect.stringContaining(`HOST=${HOST} and PORT=${PORT}: `) },
    ];

    test('where HOST is no address of this machine, or a name that cannot exist', async () => {
      for (const HOST of ['203.0.113.1', 'two..dots'])
        expect(await failsToListen({ HOST })).toEqual(failure(HOST, '0'));
    });

    test('where PORT is in use', async () => {
      const taken = createServer();
      const PORT = String(await listening(taken));
      expect(await failsToListen({ PORT })).toEqual(failure('127.0.0.1', PORT));
      taken.close();
    });
  });

  test.each(HOST_VARIANTS)(
    'that fails to start releases everything that it has opened, with %s',
    async (HOST_VARIANT) => {
      const env = { HOST_VARIANT, METRICS: '1', DATA_DIR: ':memory:', LOG_LEVEL: 'silent' };
      const config = { ...readConfig(env), inspector: { token: 'short', always: false, lines: false } };
      await expect(startService(config)).rejects.toThrow('token must have at least 16 characters');
      expect(hasSubscribers('ambit:scope:opened')).toBe(false);
    },
  );
});

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

/** The output of `npm run <script>`, up to the line that matches. */
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

/** True while npm, or a process that it has started, still runs. */
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
  await accepting(port);
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

const CTRL_C = '\u0003';
const TIMEOUT_MS = 120_000;
/** From util-linux: runs a command on a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0;

test.skipIf(!hasScript)(
  'on a terminal, Ctrl+C stops "npm start" with 0, though npm passes the signal on as well',
  async () => {
    const port = await freePort();
    const env = { PATH: process.env['PATH'], PORT: String(port), DATA_DIR: ':memory:' };
    const terminal = spawn('script', ['-qec', 'exec npm start', '/dev/null'], { cwd: ROOT, env });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    let text = '';
    terminal.stdout.setEncoding('utf8').on('data', (shown: string) => (text += shown.replaceAll('\r', '')));
    const shows = (pattern: RegExp) => vi.waitFor(() => expect(text).toMatch(pattern), { timeout: TIMEOUT_MS });
    await shows(/"msg":"listening"/);
    terminal.stdin.write(CTRL_C);
    const code = await new Promise((resolve) => void terminal.on('close', resolve));
    expect([code, text]).toEqual([0, expect.stringMatching(/stopping[^]*stopped/)]);
    expect(text).not.toContain('second signal');
  },
);

describe('without a terminal', () => {
  const time = '2026-11-26T12:00:00.000Z';

  test('the log has lines of JSON only, those of a start and a stop as a program reads them', async () => {
    const service = new ServiceProcess({ DATA_DIR: ':memory:' });
    const url = await service.url();
    service.kill('SIGTERM');
    const { output } = await service.exit;
    const at = `"time":"${time}"`;
    expect(output.replaceAll(/"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, at)).toBe(
      `{"level":30,${at},"msg":"listening","url":"${url}","host":"fastify","database":"sqlite","place":"SQLite in memory, lost at exit (DATA_DIR; DATABASE_URL is not set)"}\n` +
        `{"level":30,${at},"msg":"stopping","signal":"SIGTERM"}\n` +
        `{"level":30,${at},"msg":"stopped"}\n`,
    );
  });
});
