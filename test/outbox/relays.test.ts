import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const program = join(import.meta.dirname, 'relays.mjs');

function play(...options: string[]): Promise<{ status: number | string | null; printed: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, '--short', ...options], { maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ status: error ? (error.code ?? error.signal ?? null) : 0, printed: stdout + stderr }),
    );
  });
}

// The program itself takes a minute for each, on both databases, with all settings, power failures and Restate.
it.each([
  ['NATS JetStream', 'sqlite'],
  ['RabbitMQ', 'postgres'],
  ['Redis streams', 'sqlite'],
])(
  'every committed event arrives in %s, in the order of its key, and a setting that loses some is found',
  { timeout: 300_000 },
  async (name, database) => {
    const { status, printed } = await play('--only', name, '--database', database);
    expect({ status, printed }).toEqual({ status: 0, printed: expect.any(String) });
    expect(printed).toMatch(/ [1-9]\d* of \d+ lost$/m);
  },
);
