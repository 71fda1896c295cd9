import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A pipe for the stdout of a program, which is read only when a test reads it. */
class StalledReader implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'ambit-pipe-'));
  readonly #pipe: Socket;
  /** For `stdio`: open as long as the reader is, so that the pipe is never closed. */
  readonly stdout: number;
  #text = '';

  constructor() {
    const path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [path]);
    const reading = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    this.#pipe = new Socket({ fd: reading, readable: true, writable: false }).pause();
    this.#pipe.setEncoding('latin1').on('data', (text: string) => (this.#text += text));
    this.#pipe.pause();
    this.stdout = openSync(path, constants.O_WRONLY);
  }

  /** Reads until this was found, and then stops reading. */
  async readUntil(pattern: RegExp): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(60_000);
    for (this.#pipe.resume(); ; await once(this.#pipe, 'data', { signal })) {
      const found = pattern.exec(this.#text);
      if (!found) continue;
      this.#pipe.pause();
      return found;
    }
  }

  /** Everything that was read, line by line. */
  get lines(): readonly string[] {
    return this.#text.split('\n').slice(0, -1);
  }

  [Symbol.dispose](): void {
    this.#pipe.destroy();
    closeSync(this.stdout);
    rmSync(this.#folder, { recursive: true });
  }
}

const TIMEOUT_MS = 240_000;
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
  const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(60_000) });
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
    const [, reported] = await reader.readUntil(/"msg":"log lines were dropped","dropped":(\d+)}\n/);
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

test('every record is written when the call returns: not even SIGKILL loses one', async () => {
  const program = `
    import { createLogger } from '${LOGGER}';
    const logger = createLogger('info');
    for (let count = 1; count <= 100; count++) logger.info({ count });
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
  const [printed] = await Promise.all([textOf(child.stdout), once(child, 'close')]);
  expect(child.signalCode).toBe('SIGKILL');
  const records = printed.trimEnd().split('\n');
  expect(records.map((record) => JSON.parse(record))).toEqual(
    Array.from({ length: 100 }, (_, i) => ({ level: 30, time: expect.any(String), count: i + 1 })),
  );
});
