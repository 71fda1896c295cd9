import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SUBJECTS } from './subjects.mjs';

const root = join(import.meta.dirname, '../..');
const program = join(root, 'test/histories/histories.mjs');

// The program itself plays ten times as many transactions. Prisma is in test/orm/prisma.
it('the histories of two processes have no forbidden anomaly', { timeout: 600_000 }, async () => {
  const printed = await new Promise<string>((resolve) => {
    const options = ['--short', '--except', 'Prisma'];
    execFile(process.execPath, [program, ...options], { maxBuffer: 2 ** 26 }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
  expect(printed).toMatch(/^\d+ transactions, 0 wrong\n$/m);
});

describe('there are histories through', () => {
  /** The entry points of a package. */
  function entriesOf(name: string): string[] {
    const { exports } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as {
      exports: Record<string, unknown>;
    };
    return Object.keys(exports).map((path) => join('@ambit', name, path));
  }

  async function poolsOf(entry: string): Promise<string[]> {
    const names = Object.keys((await import(entry)) as object);
    return names.filter((name) => /^from|^create\w*Pool$/.test(name));
  }

  // A Durable Object has one connection, and runs in workerd alone.
  const entries = [...entriesOf('drivers'), ...entriesOf('transaction')].filter((entry) => !/durable/.test(entry));
  it.each(entries)('every pool of %s', async (entry) => {
    expect(SUBJECTS.flatMap(({ name, from }) => (from === entry ? [name] : []))).toEqual(await poolsOf(entry));
  });

  it.each(entriesOf('orm'))('%s', (entry) => {
    expect(SUBJECTS.map(({ from }) => from)).toContain(entry);
  });

  it('every ORM on each database that the guide names', () => {
    const guide = readFileSync(join(root, 'docs/guides/orms.md'), 'utf8');
    const rows = Array.from(
      guide.matchAll(/^\| \[(?<orm>[^\]]+)\]\S+ +\| `\w+On` of `@ambit\/orm[^|]*\|(?<databases>[^|]*)\|/gm),
    );
    const pairs = rows.flatMap(({ groups: { orm = '', databases = '' } = {} }) =>
      databases.split(/[,;]/).map((database) => `${orm} and ${database.trim()}`),
    );
    expect(pairs.length).toBeGreaterThan(0);
    const played = SUBJECTS.filter(({ isOrm }) => isOrm).map(
      ({ name, database }) => `${name.replace(/ on \w+$/, '')} and ${database}`,
    );
    expect(played.toSorted()).toEqual(pairs.toSorted());
  });
});
