import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { accepting, freePort } from './support/ports.js';
import { StalledReader } from './support/stalled-reader.js';

const TIMEOUT_MS = 60_000;
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const LOGGER = new URL('../dist/logging/logger.js', import.meta.url).href;
/** A path that makes a log line of 15 KB, so that a few hundred requests fill every buffer. */
const LONG = `/api/users/${'x'.repeat(15_000)}`;

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

function start(args: readonly string[], stdout: number, env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', stdout, 'inherit'],
    env: { PORT: '0', DATA_DIR: ':memory:', ...env },
  });
  children.add(child);
  return child;
}

async function ask(url: string, path: string): Promise<number> {
  const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(15_000) });
  await response.text();
  return response.status;
}

async function fill(url: string, requests: number): Promise<void> {
  for (let sent = 0; sent < requests; sent += 25) {
    const statuses = await Promise.all(Array.from({ length: 25 }, () => ask(url, LONG)));
    expect(new Set(statuses)).toEqual(new Set([404]));
  }
}

describe('a service whose log nobody reads', { timeout: TIMEOUT_MS }, () => {
  test('continues to respond, reports how many lines were dropped, and stops on SIGTERM', async () => {
    using reader = new StalledReader();
    const child = start([MAIN], reader.stdout, { METRICS: '1' });
    const [, url = ''] = await reader.readUntil(/"url":"([^"]+)"/);

    await fill(url, 400);
    expect(await ask(url, '/health/live')).toBe(200);
    expect(await ask(url, '/health/ready')).toBe(200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    const [, dropped] = /^ambit_log_dropped_total\{.*\} (\d+)$/m.exec(metrics) ?? [];
    expect(Number(dropped)).toBeGreaterThan(20);

    // The reader continues: one line reports the gap where it is, and every line is complete.
    const [, reported] = await reader.readUntil(/"msg":"log lines were dropped","dropped":(\d+),"code":"EAGAIN"}\n/);
    expect(Number(reported)).toBeGreaterThanOrEqual(Number(dropped));
    for (const line of reader.lines) JSON.parse(line);
    await ask(url, '/api/users/after');
    await reader.readUntil(/"path":"\/api\/users\/after"/);

    await fill(url, 400);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});

test.skipIf(!existsSync('/dev/full'))(
  'a service whose log has no space left continues, and stops on SIGTERM',
  async () => {
    const port = await freePort();
    const child = start([MAIN], openSync('/dev/full', 'w'), { PORT: String(port), METRICS: '1' });
    const url = `http://127.0.0.1:${port}`;
    await accepting(port);
    await fill(url, 400);
    expect(await (await fetch(`${url}/metrics`)).text()).toMatch(/^ambit_log_dropped_total\{.*\} [1-9]\d*$/m);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  },
);

test('lines that wait in memory at exit are written, as long as somebody reads', async () => {
  using reader = new StalledReader();
  const program = `
    import { createLogger } from '${LOGGER}';
    const logger = createLogger('info');
    for (let count = 1; count <= 1000; count++) logger.info({ count, text: 'x'.repeat(1000) });
    process.exit(0);`;
  const child = start(['--input-type=module', '--eval', program], reader.stdout);
  const exited = once(child, 'exit');
  await reader.readUntil(/"count":1000,/);
  await exited;
  expect(reader.lines.map((line) => (JSON.parse(line) as { count: number }).count)).toEqual(
    Array.from({ length: 1000 }, (_, index) => index + 1),
  );
});
