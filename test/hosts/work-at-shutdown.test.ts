import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Happenings, refused } from '@ambit/test-kit';

describe.each(['Express', 'Fastify', 'node:http'])('a process that serves with %s and works without HTTP', (host) => {
  const happenings = new Happenings();
  let child: ChildProcess;
  let messages: { readonly event: string; readonly port?: number }[];

  const hears = (event: string): Promise<void> =>
    happenings.until(() => messages.some((message) => message.event === event), `the process says ${event}`);

  beforeEach(async () => {
    messages = [];
    child = fork(new URL('support/worker.mjs', import.meta.url), [host]);
    child.on('message', (message) => {
      messages.push(message as (typeof messages)[number]);
      happenings.tell();
    });
    await Promise.all([hears('listening'), hears('working')]);
  });

  afterEach(() => void child.kill('SIGKILL'));

  test('finishes at SIGTERM the work in progress, refuses new work, then disposes its container', async () => {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await refused(messages.find(({ port }) => port)?.port ?? 0);
    child.send('go on');
    expect(await exit).toEqual([0, null]);
    const events = messages.map(({ event }) => event).filter((event) => event !== 'listening');
    expect(events.filter((event) => event !== 'AMBIT_DRAINING')).toEqual(['working', 'worked', 'disposed']);
    expect(events).toContain('AMBIT_DRAINING');
  });
});
