import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { examplesIn } from '../../tools/documents.mjs';

/** The examples of the documents that need what is installed here; tools/test/docs.test.ts has the others. */
const libraries = import.meta.dirname;
const docs = join(libraries, '../../docs');
const pages = ['guides', 'coming-from'].flatMap((part) =>
  readdirSync(join(docs, part)).map((page) => `${part}/${page}`),
);
const examples = pages.flatMap((page) =>
  examplesIn(readFileSync(join(docs, page), 'utf8'), { only: 'integrations' }).map((example) => ({
    page,
    ...example,
  })),
);

describe.each(examples)('$page, line $line', ({ line, code, prints }) => {
  let folder: string;
  let compilerOutput: string;

  beforeAll(() => {
    mkdirSync(join(libraries, '.cache'), { recursive: true });
    folder = mkdtempSync(join(libraries, '.cache/guides-'));
    writeFileSync(join(folder, `line-${line}.ts`), code);
    // Node removes types, but does not run the decorators that some of these libraries need.
    const compilerOptions = {
      noEmit: false,
      declaration: false,
      declarationMap: false,
      allowImportingTsExtensions: false,
      sourceMap: false,
      inlineSources: false,
    };
    const options = { extends: '../../../tsconfig.json', compilerOptions, include: [`line-${line}.ts`] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options));
    const tsc = join(libraries, '../../node_modules/typescript/bin/tsc');
    compilerOutput = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('compiles', () => {
    expect(compilerOutput).toBe('');
  });

  it('does what the page says', () => {
    // DBOS 5.3 uses `pg` in a way that `pg` deprecates.
    const program = ['--no-deprecation', join(folder, `line-${line}.js`)];
    const { stdout, stderr } = spawnSync(process.execPath, program, { encoding: 'utf8' });
    expect(stderr).toBe('');
    expect(stdout).toBe(prints);
  });
});
