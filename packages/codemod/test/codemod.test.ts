import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { report } from '../src/run.js';
import { convert, libraryNamed, type Conversion, type LibraryName, type SourceText } from '../src/index.js';

const FIXTURES = fileURLToPath(new URL('fixtures/', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
// Within the workspace, so that the program finds @ambit/container.
const BUILT = join(ROOT, 'node_modules/.cache/codemod');
mkdirSync(BUILT, { recursive: true });
const folder = mkdtempSync(join(BUILT, 'run-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The files end with `.txt`, so that no other tool reads them. */
function sourcesOf(fixture: string): SourceText[] {
  const input = join(FIXTURES, fixture, 'input');
  return readdirSync(input).map((name) => ({
    path: `/program/${name.replace(/\.txt$/, '')}`,
    text: readFileSync(join(input, name), 'utf8'),
  }));
}

const converted = (library: LibraryName, sources: readonly SourceText[]): Conversion =>
  convert(libraryNamed(library)!, sources);

interface Program {
  readonly fixture: string;
  readonly library: LibraryName;
  readonly prints: readonly string[];
}

const programs: Program[] = [
  {
    fixture: 'tsyringe',
    library: 'tsyringe',
    prints: ['1 Hello Ada', '2 Hello Grace', 'Hello 2026 2', 'true', 'true', 'true true'],
  },
  {
    fixture: 'inversify',
    library: 'inversify',
    prints: ['made', '1 Hello Ada', '2 Hello Grace', 'line 3 false 2', 'true', 'true', 'true'],
  },
  {
    fixture: 'awilix',
    library: 'awilix',
    prints: ['postgres://localhost/shop 2026 Ada false', 'true', '7 label of postgres://localhost/shop', 'pool closed'],
  },
  { fixture: 'awilix-classic', library: 'awilix', prints: ['postgres://localhost/shop true'] },
];

describe.each(programs)('a program of $fixture', ({ fixture, library, prints }) => {
  const sources = sourcesOf(fixture);

  test('is converted, and what is left is listed', async () => {
    const conversion = converted(library, sources);
    for (const { path, after } of conversion.files)
      await expect(after).toMatchFileSnapshot(
        join(FIXTURES, fixture, 'output', `${path.slice('/program/'.length)}.txt`),
      );
    await expect(report(conversion, library, (path) => path.slice('/program/'.length))).toMatchFileSnapshot(
      join(FIXTURES, fixture, 'report.txt'),
    );
  });

  test('compiles and runs without the library', () => {
    const complete = sources.filter(({ path }) => !path.endsWith('left.ts'));
    const { files, left } = converted(library, complete);
    expect(left).toEqual([]);
    const program = join(folder, fixture);
    const all = new Map([
      ...complete.map(({ path, text }) => [path, text] as const),
      ...files.map(({ path, after }) => [path, after] as const),
    ]);
    for (const [path, text] of all) {
      // A global container is in the folder that all files share.
      const file = join(program, path.slice('/program/'.length));
      mkdirSync(dirname(file), { recursive: true });
      // It is there for the library alone.
      writeFileSync(file, text.replace("import 'reflect-metadata';\n", ''));
      expect(text).not.toContain(`'${library}'`);
    }
    const isModule = all.has('/program/main.ts');
    writeFileSync(join(program, 'package.json'), JSON.stringify({ type: isModule ? 'module' : 'commonjs' }));
    const options = [
      '--ignoreConfig',
      '--strict',
      '--experimentalDecorators',
      '--target',
      'es2023',
      '--module',
      'nodenext',
      '--types',
      'node',
      '--skipLibCheck',
    ];
    if (isModule)
      execFileSync(
        process.execPath,
        [
          join(ROOT, 'node_modules/typescript/bin/tsc'),
          ...options,
          ...Array.from(all.keys(), (path) => path.slice('/program/'.length)),
        ],
        { cwd: program },
      );
    const output = execFileSync(process.execPath, ['main.js'], { cwd: program, encoding: 'utf8' });
    expect(output.trim().split('\n')).toEqual(prints);
  });
});
