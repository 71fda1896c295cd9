import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const program = join(import.meta.dirname, '../../../histories/histories.mjs');

it('the histories of two processes through Prisma have no forbidden anomaly', { timeout: 300_000 }, async () => {
  const printed = await new Promise<string>((resolve) => {
    const options = ['--short', '--only', 'Prisma'];
    execFile(process.execPath, [program, ...options], { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
  expect(printed).toMatch(/^[1-9]\d* transactions, 0 wrong\n$/m);
});
