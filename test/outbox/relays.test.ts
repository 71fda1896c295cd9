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

// `npm run lab -- relays` takes a minute for each broker, on both databases, with all settings, power failures and Restate.
it(
  'every committed event arrives in RabbitMQ, in the order of its key, and a setting that loses some is found',
  { timeout: 300_000 },
  async () => {
    const { status, printed } = await play('--only', 'RabbitMQ', '--database', 'postgres');
    expect({ status, printed }).toEqual({ status: 0, printed: expect.any(String) });
    expect(printed).toMatch(/ [1-9]\d* of \d+ lost$/m);
  },
);
