import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from './support/ports.js';
import { ServiceProcess } from './support/service-process.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CTRL_C = '\u0003';
const TIMEOUT_MS = 50_000;
/** From util-linux: runs a command on a terminal of its own. */
const hasScript = spawnSync('script', ['--version']).status === 0;

test.skipIf(!hasScript)(
  'on a terminal, "npm start" logs lines of text, and Ctrl+C stops it with 0, though npm passes the signal on as well',
  async () => {
    const port = await freePort();
    const env = { PATH: process.env['PATH'], PORT: String(port), DATA_DIR: ':memory:' };
    const terminal = spawn('script', ['-qec', 'exec npm start', '/dev/null'], { cwd: ROOT, env });
    onTestFinished(() => void terminal.kill('SIGKILL'));
    let text = '';
    terminal.stdout.setEncoding('utf8').on('data', (shown: string) => (text += shown.replaceAll('\r', '')));
    const shows = (pattern: RegExp) => vi.waitFor(() => expect(text).toMatch(pattern), { timeout: TIMEOUT_MS });
    await shows(/\d\d:\d\d:\d\d {2}info {3}listening {2}url=http:\/\/127\.0\.0\.1:\d+ {2}host=fastify .*$/m);
    await fetch(`http://127.0.0.1:${port}/api/users/nobody`);
    await shows(/info {3}request {2}requestId=\S+ {2}method=GET {2}path=\/api\/users\/nobody {2}status=404/);
    terminal.stdin.write(CTRL_C);
    const code = await new Promise((resolve) => void terminal.on('close', resolve));
    expect([code, text]).toEqual([0, expect.stringMatching(/stopping[^]*stopped/)]);
    expect(text).not.toMatch(/second signal|\{"/);
  },
);

/** The lines that LOG_FORMAT=text makes of a record of the log. */
function textOf(record: object): string {
  const program = `
    import { readConfig } from './service/dist/index.js';
    import { createOutput } from './service/dist/logging/terminal.js';
    createOutput(readConfig(process.env)).write(${JSON.stringify(JSON.stringify(record))});`;
  const env = { PATH: process.env['PATH'], LOG_FORMAT: 'text', TZ: 'UTC' };
  const args = ['--input-type=module', '--eval', program];
  return spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' }).stdout;
}

describe('without a terminal', () => {
  const time = '2026-11-26T12:00:00.000Z';

  test('what a text of the log contains cannot control the screen', () => {
    const err = { message: 'c', stack: 'c\u009B\n  at\rd' };
    expect(textOf({ level: 50, time, msg: 'a\u001B[2Jb\n', err, why: '\u0007' })).toBe(
      '12:00:00  error  a\\x1b[2Jb\\x0a  why=\\x07\n          c\\x9b\n            at\\x0dd\n',
    );
    expect(textOf({ level: 30, time, type: 'audit', action: 'users_listed', timestamp: time, count: 2 })).toBe(
      '12:00:00  audit  users_listed  count=2\n',
    );
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
