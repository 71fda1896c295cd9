import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { subscribeAll } from '../src/channels.js';

describe('a message that cannot be recorded', () => {
  it('ends nothing but its record: a warning names the channel once, and not the message', async () => {
    const uncaught: unknown[] = [];
    const before = process.rawListeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => void uncaught.push(error));
    const recorded: number[] = [];
    const stop = subscribeAll<{ number: number }>({
      'ambit:test:channels': ({ number }) => {
        if (number === 2) throw new Error('canary');
        recorded.push(number);
      },
    });
    const warned = once(process, 'warning');
    for (const number of [1, 2, 2, 3]) channel('ambit:test:channels').publish({ number });
    const [warning] = (await warned) as [Error];
    stop();
    channel('ambit:test:channels').publish({ number: 4 });
    process.removeAllListeners('uncaughtException');
    for (const listener of before) process.on('uncaughtException', listener as () => void);
    expect(recorded).toEqual([1, 3]);
    expect(uncaught).toEqual([]);
    expect(warning.message).toBe('The inspector could not record a message of ambit:test:channels');
    expect(channel('ambit:test:channels').hasSubscribers).toBe(false);
  });
});
