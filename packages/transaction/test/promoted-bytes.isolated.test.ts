import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { hasPostgres, postgresUrl } from '@ambit/test-kit';
import { expect, it } from 'vitest';

const PROGRAM = fileURLToPath(new URL('support/promoted-bytes.mjs', import.meta.url));

it.skipIf(!hasPostgres)(
  'lets the rows of a query die young',
  () => {
    const trace = execFileSync(process.execPath, ['--trace-gc-nvp', PROGRAM, postgresUrl, '2000'], {
      encoding: 'utf8',
    });
    // Node 26 writes JSON where earlier ones write name=value.
    const promoted = [...trace.matchAll(/\bgc"?[=:]"?s\b.*\bpromoted"?[=:](\d+)/g)].map(([, bytes]) => Number(bytes));
    // Objects that are loaded at start-up survive by right.
    const settled = promoted.slice(Math.ceil(promoted.length / 3));
    expect(settled.length).toBeGreaterThan(3);
    expect(settled.reduce((sum, bytes) => sum + bytes, 0) / settled.length).toBeLessThan(150_000);
  },
  300_000,
);
