import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesIn } from '../../scripts/docs/extract.mjs';

/** The examples of the guides that need what is installed here; scripts/test/docs.test.ts has the others. */
const integrations = join(import.meta.dirname, '..');
const guides = join(integrations, '../docs/guides');
const examples = readdirSync(guides).flatMap((guide) =>
  examplesIn(readFileSync(join(guides, guide), 'utf8'), { only: 'integrations' }).map((example) => ({
    guide,
    ...example,
  })),
);

describe.each(examples)('$guide, line $line', ({ line, code, prints }) => {
  let folder: string;
  let file: string;

  beforeAll(() => {
    mkdirSync(join(integrations, '.cache'), { recursive: true });
    folder = mkdtempSync(join(integrations, '.cache/guides-'));
    file = join(folder, `line-${line}.ts`);
    writeFileSync(file, code);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('compiles', () => {
    const options = { extends: '../../tsconfig.json', include: [`line-${line}.ts`] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
    const tsc = join(integrations, '../node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' });
    expect(stdout).toBe('');
  });

  it('does what the page says', () => {
    const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout).toBe(prints);
  });
});
