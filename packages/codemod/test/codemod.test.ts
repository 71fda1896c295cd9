import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { report } from '../src/core/report.js';
import {
  type Conversion,
  convert,
  type ConvertOptions,
  libraryNamed,
  type LibraryName,
  type SourceText,
} from '../src/index.js';

const FIXTURES = fileURLToPath(new URL('fixtures/', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
// Within the package, so that the programs find Ambit and the libraries that they come from.
const BUILT = fileURLToPath(new URL('../node_modules/.cache/', import.meta.url));
mkdirSync(BUILT, { recursive: true });
const folder = mkdtempSync(join(BUILT, 'codemod-'));
afterAll(() => rmSync(folder, { recursive: true }));
// Under its own name it would be that of every other program of the workspace, which have a newer one.
mkdirSync(join(folder, 'node_modules'));
symlinkSync(join(ROOT, 'node_modules/inversify-6'), join(folder, 'node_modules/inversify'), 'junction');

/** The files end with `.txt`, so that no other tool reads them. */
function sourcesOf(fixture: string): SourceText[] {
  const input = join(FIXTURES, fixture, 'input');
  return readdirSync(input).map((name) => ({
    path: `/program/${name.replace(/\.txt$/, '')}`,
    text: readFileSync(join(input, name), 'utf8'),
  }));
}

const nameOf = (path: string): string => path.slice('/program/'.length);

/** The program with the changed files. */
function after(sources: readonly SourceText[], { files }: Conversion): SourceText[] {
  const texts = new Map([
    ...sources.map(({ path, text }) => [path, text] as const),
    ...files.map((file) => [file.path, file.after] as const),
  ]);
  return Array.from(texts, ([path, text]) => ({ path, text }));
}

/** Writes the program to a folder; returns where. */
function written(name: string, sources: readonly SourceText[]): string {
  const program = join(folder, name);
  mkdirSync(program, { recursive: true });
  for (const { path, text } of sources) writeFileSync(join(program, nameOf(path)), text);
  const isModule = sources.some(({ path }) => path.endsWith('.ts'));
  writeFileSync(join(program, 'package.json'), JSON.stringify({ type: isModule ? 'module' : 'commonjs' }));
  return program;
}

const OPTIONS =
  '--ignoreConfig --strict --experimentalDecorators --emitDecoratorMetadata --target es2023 --module nodenext --types node --skipLibCheck --pretty false';

/** Compiles the program to JavaScript; throws with the errors of the compiler. */
function compile(program: string): void {
  const files = readdirSync(program).filter((name) => name.endsWith('.ts'));
  if (files.length === 0) return;
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, ...OPTIONS.split(' '), ...files], { cwd: program, encoding: 'utf8' });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout, { cause: error });
  }
}

const printed = (program: string): string[] =>
  execFileSync(process.execPath, ['main.js'], { cwd: program, encoding: 'utf8' }).trim().split('\n');

async function expectFiles(fixture: string, library: LibraryName, conversion: Conversion): Promise<void> {
  for (const file of conversion.files)
    await expect(file.after).toMatchFileSnapshot(join(FIXTURES, fixture, 'output', `${nameOf(file.path)}.txt`));
  await expect(report(conversion, libraryNamed(library)!, nameOf)).toMatchFileSnapshot(
    join(FIXTURES, fixture, 'report.txt'),
  );
}

const converted = (library: LibraryName, sources: readonly SourceText[], options?: ConvertOptions): Conversion =>
  convert(libraryNamed(library)!, sources, options);

interface Program {
  readonly fixture: string;
  readonly library: LibraryName;
  readonly prints: readonly string[];
  /** Before the conversion it needs more than its files to run, such as a database of its own. */
  readonly runsAfterwards?: true;
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
    prints: [
      'postgres://localhost/shop 2026 Ada false',
      'true',
      'true',
      '7 label of postgres://localhost/shop',
      'pool closed',
    ],
  },
  { fixture: 'awilix-classic', library: 'awilix', prints: ['postgres://localhost/shop true'] },
  {
    fixture: 'typeorm-transactional',
    library: 'typeorm-transactional',
    runsAfterwards: true,
    prints: [
      'completed a',
      'completed b',
      "[ 'A', 'B' ]",
      'rolled back: no x',
      'completed x',
      'no x',
      'rolled back: no c',
      'completed c',
      'completed d',
      'D 3',
      'a a-audit b d e',
      'a b d',
    ],
  },
  {
    fixture: 'nestjs-cls',
    library: '@nestjs-cls/transactional',
    runsAfterwards: true,
    prints: ['true', 'refused', "[ '#a', '#b', '#c' ]"],
  },
];

describe.each(programs)('a program of $fixture', ({ fixture, library, prints, runsAfterwards = false }) => {
  const sources = sourcesOf(fixture);
  const conversion = converted(library, sources);
  const now = after(sources, conversion);

  test('is converted as a whole', async () => {
    expect(conversion.left).toEqual([]);
    expect(conversion.untouched).toEqual([]);
    for (const { text } of now)
      for (const name of libraryNamed(library)!.modules) expect(text).not.toContain(`'${name}'`);
    await expectFiles(fixture, library, conversion);
  });

  test('compiles and prints the same before and afterwards', () => {
    const before = written(`${fixture}-before`, sources);
    compile(before);
    if (!runsAfterwards) expect(printed(before)).toEqual(prints);
    const program = written(`${fixture}-after`, now);
    compile(program);
    expect(printed(program)).toEqual(prints);
  });

  test('is not changed by a second run', () => {
    expect(converted(library, now)).toMatchObject({ files: [], left: [], untouched: [] });
  });
});

interface LeftProgram {
  readonly fixture: string;
  readonly library: LibraryName;
  /** Files that share nothing with what is left. */
  readonly apart?: readonly string[];
}

const leftPrograms: LeftProgram[] = [
  { fixture: 'awilix-left', library: 'awilix' },
  { fixture: 'awilix-fastify', library: 'awilix' },
  { fixture: 'awilix-request', library: 'awilix' },
  { fixture: 'inversify-left', library: 'inversify' },
  { fixture: 'inversify-express-utils', library: 'inversify', apart: ['clock.ts'] },
  { fixture: 'inversify-hidden', library: 'inversify' },
  { fixture: 'inversify-orphan', library: 'inversify' },
  { fixture: 'tsyringe-left', library: 'tsyringe' },
  { fixture: 'tsyringe-framework', library: 'tsyringe' },
  { fixture: 'typeorm-transactional-left', library: 'typeorm-transactional' },
  { fixture: 'typeorm-transactional-unwired', library: 'typeorm-transactional' },
  { fixture: 'nestjs-cls-left', library: '@nestjs-cls/transactional' },
];

describe.each(leftPrograms)('a program like $fixture', ({ fixture, library, apart = [] }) => {
  const sources = sourcesOf(fixture);
  const conversion = converted(library, sources);

  test('stays as it is, and the report says why', async () => {
    expect(conversion.left).not.toEqual([]);
    expect(conversion.files.map(({ path }) => nameOf(path))).toEqual(apart);
    await expectFiles(fixture, library, conversion);
  });

  test('stays as it is in a second run', () => {
    const again = converted(library, after(sources, conversion));
    expect(again).toMatchObject({ files: [], left: conversion.left, untouched: conversion.untouched });
  });
});

test('where @ambit/nest opens the transactions, its decorator takes the place of the other', async () => {
  const conversion = converted('typeorm-transactional', sourcesOf('nest'));
  expect(conversion.left).toEqual([]);
  await expectFiles('nest', 'typeorm-transactional', conversion);
});

test('with partial, what has an equal is converted beside what is left', async () => {
  const { files, left } = converted('inversify', sourcesOf('inversify-left'), { partial: true });
  expect(left).not.toEqual([]);
  await expect(files[0]?.after).toMatchFileSnapshot(join(FIXTURES, 'inversify-left/partial.txt'));
});
