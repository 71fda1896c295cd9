import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { createSqlitePool } from '@ambit/transaction/sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Happenings, RawClient, refused } from '@ambit/test-kit';

interface Message {
  readonly event: 'listening' | 'working' | 'closed' | 'disposed';
  readonly port?: number;
}

describe.each(['Express', 'Fastify', 'node:http'])('a process that serves with %s', (host) => {
  const happenings = new Happenings();
  let folder: string;
  let child: ChildProcess;
  let messages: Message[];
  let port: number;

  const hears = (event: Message['event']): Promise<void> =>
    happenings.until(() => messages.some((message) => message.event === event), `the process says ${event}`);

  const stored = async (): Promise<unknown[]> => {
    await using pool = createSqlitePool({ path: join(folder, 'test.db') });
    const rows = await pool.query('SELECT id FROM orders ORDER BY id');
    return rows.map(({ id }) => id);
  };

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ambit-'));
    const path = join(folder, 'test.db');
    await using pool = createSqlitePool({ path });
    await pool.query('CREATE TABLE orders (id TEXT PRIMARY KEY)');
    messages = [];
    child = fork(new URL('support/main.mjs', import.meta.url), [host, path], { execArgv: ['--max-old-space-size=64'] });
    child.on('message', (message) => {
      messages.push(message as Message);
      happenings.tell();
    });
    await hears('listening');
    // The process of the test before may still have said something.
    port = messages.find(({ event }) => event === 'listening')?.port ?? 0;
  });

  afterEach(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });

  test('responds at SIGTERM to what has begun, disposes its container, and exits with code 0', async () => {
    const idle = await RawClient.connect(port);
    await idle.request({ method: 'POST', path: '/orders', body: { id: 'first' } });
    const client = await RawClient.connect(port);
    client.send({ method: 'POST', path: '/orders', body: { id: 'second', wait: true } });
    await hears('working');
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await refused(port);
    child.send('go on');
    const response = await client.response();
    expect(response.status).toBe(201);
    expect(response.headers['connection']).toBe('close');
    expect(await exit).toEqual([0, null]);
    expect(messages.at(-1)).toEqual({ event: 'disposed' });
    expect(await stored()).toEqual(['first', 'second']);
  });

  test('cuts those of many clients that have the most to read, and do not, before they use up its memory', async () => {
    const clients = await Promise.all(Array.from({ length: 30 }, () => RawClient.connect(port)));
    // Stopped meanwhile, it finds the requests of all of them at once.
    child.kill('SIGSTOP');
    for (const client of clients) {
      client.stopReading();
      client.send(...Array.from({ length: 10 }, () => ({ path: '/large' })));
    }
    await setTimeout(100);
    child.kill('SIGCONT');
    await hears('closed');
    for (const other of clients) other.reset();
    const client = await RawClient.connect(port);
    expect((await client.request({ path: '/large' })).status).toBe(200);
  });

  test('killed without a warning has stored what it acknowledged, and nothing else', async () => {
    const client = await RawClient.connect(port);
    expect((await client.request({ method: 'POST', path: '/orders', body: { id: 'first' } })).status).toBe(201);
    client.send({ method: 'POST', path: '/orders', body: { id: 'second', wait: true } });
    await hears('working');
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    expect(await stored()).toEqual(['first']);
  });
});
