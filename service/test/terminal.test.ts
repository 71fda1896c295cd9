import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { freePort, listening } from './support/ports.js';
import { ServiceProcess } from './support/service-process.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = 'node service/dist/main.js';
const CTRL_C = '\u0003';
const SCREEN_LINES = 24;
const TIMEOUT_MS = 50_000;
/** From util-linux: runs a command on a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0;

const running = new Set<ChildProcess>();
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  running.clear();
});

/** A command on a terminal. */
class OnTerminal {
  readonly exit: Promise<number>;
  readonly #child: ChildProcess;
  #shown = '';

  constructor(command: string, env: Readonly<Record<string, string>>) {
    const all = { PATH: process.env['PATH'], PORT: '0', DATA_DIR: ':memory:', ...env };
    const child = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], { cwd: ROOT, env: all });
    running.add(child);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (this.#shown += text));
    this.#child = child;
    this.exit = once(child, 'close').then(([code]) => Number(code));
  }

  get text(): string {
    return this.#shown.replaceAll('\r', '');
  }

  shows(pattern: RegExp): Promise<RegExpExecArray> {
    const find = (): RegExpExecArray => {
      const found = pattern.exec(this.text);
      if (found) return found;
      throw new Error(`The terminal does not show ${String(pattern)}:\n${this.text}`);
    };
    return vi.waitFor(find, { timeout: TIMEOUT_MS });
  }

  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }
}

const folder = mkdtempSync(join(tmpdir(), 'ambit-terminal-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(!hasScript)('on a terminal', () => {
  test.each(HOST_VARIANTS)(
    'the service on %s says where it is, which database it has and how to stop, then a line for each request',
    async (HOST_VARIANT) => {
      const DATA_DIR = join(folder, HOST_VARIANT);
      const terminal = new OnTerminal(MAIN, { HOST_VARIANT, DATA_DIR, INSPECTOR: 'always', NODE_ENV: 'development' });
      const [, url = ''] = await terminal.shows(/API +(http:\/\/127\.0\.0\.1:\d+)\/api\/users\n/);
      await terminal.shows(/Stop +Ctrl\+C\n/);
      expect(terminal.text).toContain(`The service is ready, on ${HOST_VARIANT}`);
      expect(terminal.text).toMatch(new RegExp(`Reference +${url}/docs\n`));
      expect(terminal.text).toMatch(new RegExp(`Inspector +${url}/inspector\n`));
      expect(terminal.text).toMatch(
        new RegExp(`Database +SQLite in ${DATA_DIR}/ambit\\.db \\(DATA_DIR; DATABASE_URL is not set\\)\n`),
      );

      await fetch(`${url}/api/users`);
      await fetch(`${url}/api/users/nobody`);
      const link = `  ${url}/inspector/#/requests/`;
      await terminal.shows(/^\d\d:\d\d:\d\d {2}GET {4}\/api\/users +200 +\d+\.\d ms {2}http.*$/m);
      const [line] = await terminal.shows(/^\d\d:\d\d:\d\d {2}GET {4}\/api\/users\/nobody +404 +\d+\.\d ms .*$/m);
      expect(line).toContain(link);
      await terminal.shows(/^\d\d:\d\d:\d\d {2}audit {2}users_listed {2}requestId=\S+ {2}count=0$/m);
      expect(terminal.text).not.toContain('{"');

      terminal.press(CTRL_C);
      expect(await terminal.exit).toBe(0);
      await terminal.shows(/info {3}stopped\n/);
    },
  );

  test('Ctrl+C stops "npm start" with 0, though npm passes the signal on as well', async () => {
    const port = await freePort();
    const terminal = new OnTerminal('npm start', { PORT: String(port) });
    await terminal.shows(new RegExp(`http://127\\.0\\.0\\.1:${port}/docs[^]*Ctrl`));
    terminal.press(CTRL_C);
    expect(await terminal.exit).toBe(0);
    expect(terminal.text).toMatch(/stopping[^]*stopped/);
    expect(terminal.text).not.toContain('second signal');
  });

  describe('a start that fails is one screen: what, where, and how to fix it:', () => {
    mkdirSync(join(folder, 'noise'));
    writeFileSync(join(folder, 'noise/ambit.db'), Buffer.alloc(8192, 'noise'));
    const PASSWORD = 's3cret';
    const STARTS: readonly (readonly [env: Record<string, string>, code: number, parts: readonly string[]])[] = [
      [{ PORT: 'taken' }, 1, ['PORT=', 'is in use', 'or change PORT']],
      [{ PORT: 'many', HOST_VARIANT: 'koa' }, 78, ['PORT must be', 'HOST_VARIANT must be one of fastify, express']],
      [{ DATABASE_URL: `postgres:/${PASSWORD}` }, 78, ['DATABASE_URL must be a URL like']],
      [{ DATA_DIR: join(folder, 'noise') }, 1, ['file is not a database', 'Restore a backup']],
      [
        { DATABASE_URL: `postgres://ada:${PASSWORD}@127.0.0.1:1/shop`, START_TIMEOUT_MS: '0' },
        1,
        ['PostgreSQL cannot be reached', 'DATABASE_URL'],
      ],
    ];
    test.each(STARTS)('%o', async (env, code, parts) => {
      const taken = createServer();
      const PORT = env['PORT'] === 'taken' ? String(await listening(taken)) : undefined;
      const terminal = new OnTerminal(MAIN, { ...env, ...(PORT !== undefined && { PORT }) });
      expect(await terminal.exit).toBe(code);
      taken.close();
      const { text } = terminal;
      for (const part of parts) expect(text).toContain(part);
      expect(text.split('\n').length).toBeLessThan(SCREEN_LINES);
      expect(text).not.toMatch(/\{"|\n +at |s3cret/);
    });
  });
});

/** What LOG_FORMAT=text makes of lines of the log. */
function textOf(...records: readonly object[]): string {
  const program = `
    import { readConfig } from './service/dist/index.js';
    import { createOutput } from './service/dist/logging/terminal.js';
    const output = createOutput(readConfig(process.env));
    for (const record of ${JSON.stringify(records)}) output.write(JSON.stringify(record));`;
  const env = { PATH: process.env['PATH'], LOG_FORMAT: 'text', TZ: 'UTC', ...DATABASES };
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: ROOT,
    env,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout;
}

const DATABASES = {
  DATABASE_URL: 'postgres://ada:s3cret@db1:5432,db2:5433/shop?sslmode=require',
  DATABASE_READ_URL: 'postgres://ada:s3cret@r1/shop',
};

describe('without a terminal', () => {
  const time = '2026-11-26T12:00:00.000Z';

  test('what a text of the log contains cannot control the screen', () => {
    const record = {
      level: 50,
      time,
      msg: 'a\u001B[2Jb\n',
      err: { message: 'c', stack: 'c\u009B\n  at\rd' },
      why: '\u0007',
    };
    expect(textOf(record)).toBe(
      '12:00:00  error  a\\x1b[2Jb\\x0a  why=\\x07\n          c\\x9b\n            at\\x0dd\n',
    );
  });

  test('the servers of the database are named, the password is not', () => {
    const text = textOf({ level: 30, time, msg: 'listening', url: 'http://0.0.0.0:3000', host: 'fastify' });
    expect(text).toContain(
      '  Database   PostgreSQL at db1:5432,db2:5433/shop (DATABASE_URL), replicas r1/shop (DATABASE_READ_URL)\n',
    );
    expect(text).toContain('  Reference  http://localhost:3000/docs\n');
    expect(text).not.toContain('s3cret');
  });

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
