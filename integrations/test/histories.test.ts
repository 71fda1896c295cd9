import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const program = join(import.meta.dirname, '../histories.mjs');

// The program itself plays ten times as many transactions, and every mutant on each database.
it(
  'the histories of two processes have no forbidden anomaly, and each mutant has one',
  { timeout: 600_000 },
  async () => {
    const printed = await new Promise<string>((resolve) => {
      execFile(process.execPath, [program, '--short'], { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      );
    });
    expect(printed).toMatch(/^\d+ transactions, 0 wrong\n$/m);
  },
);
