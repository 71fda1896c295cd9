import { existsSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { awilix } from './awilix.js';
import { needsOf, newErrors } from './core/compile.js';
import { type Conversion, convert } from './core/convert.js';
import { diff } from './core/diff.js';
import { type Finding, LIBRARIES, type Library, type SourceText } from './core/model.js';
import { configOf, readPaths, readSources, usersOutside } from './core/program.js';
import { report } from './core/report.js';
import { inversify } from './inversify.js';
import { nestjsCls } from './nestjs-cls.js';
import { tsyringe } from './tsyringe.js';
import { typeormTransactional } from './typeorm-transactional.js';

const ALL: readonly Library[] = [awilix, tsyringe, inversify, typeormTransactional, nestjsCls];

/**
 * The knowledge of the codemod about a library.
 * @param name the name of its package
 * @returns it, or undefined for a library that it does not know
 * @example
 * ```ts
 * libraryNamed('inversify')?.modules; // ['inversify', '@inversifyjs/core', '@inversifyjs/container']
 * libraryNamed('typedi'); // undefined
 * ```
 */
export const libraryNamed = (name: string | undefined): Library | undefined => ALL.find((one) => one.name === name);

const USAGE = `Usage: ambit-codemod ${LIBRARIES.join('|')} <files or folders> [--write] [--partial]

Converts a program to Ambit. Files that work together are converted together, or left with a report that says why.
Without --write it prints the changes; with it, it writes them. With --partial it also changes files that
compile only once you have changed the rest.`;

const OPTIONS = ['--write', '--partial', '--help'];

/** The command line. Returns the exit code: 0, or 2 for wrong usage. */
export function run(args: readonly string[], print: (text: string) => void, complain: (text: string) => void): 0 | 2 {
  const unknown = args.find((one) => one.startsWith('-') && !OPTIONS.includes(one));
  const [name, ...paths] = args.filter((one) => !one.startsWith('-'));
  if (args.includes('--help')) {
    print(USAGE);
    return 0;
  }
  const refuse = (why: string): 2 => {
    complain(`${why}\n\n${USAGE}`);
    return 2;
  };
  if (unknown !== undefined) return refuse(`Unknown option ${unknown}`);
  const library = libraryNamed(name);
  if (!library) return refuse(name === undefined ? 'Name a library' : `Unknown library '${name}'`);
  const missing = paths.find((path) => !existsSync(path));
  if (missing !== undefined) return refuse(`There is no ${missing}`);
  const [first] = paths;
  if (first === undefined) return refuse('Name files or folders');
  const show = (path: string) => relative(process.cwd(), path);

  const isPartial = args.includes('--partial');
  if (isPartial && !library.containers)
    return refuse(`${library.name} is converted as a whole: half of a transaction would commit without the other`);
  const sources = readSources(paths);
  const outside = isPartial ? [] : usersOutside(first, sources, library.modules);
  if (outside.length > 0) {
    const list = outside.map((path) => `\n  ${show(path)}`).join('');
    complain(
      `A program is converted as a whole, with its tests. Name these, too, since they use ${library.name}:${list}`,
    );
    return 2;
  }
  const conversion = compiling(library, first, sources, isPartial);
  const needs = needsOf(conversion.files);
  if (args.includes('--write') && needs.length > 0) {
    complain(`Nothing was changed. First:\n${needs.map((need) => `  ${need}`).join('\n')}`);
    return 2;
  }
  for (const file of conversion.files) {
    if (args.includes('--write')) writeFileSync(file.path, file.after);
    else print(diff(file, show(file.path)));
  }
  print(report(conversion, library, show));
  if (needs.length > 0) print(`\nNot compiled yet. First:\n${needs.map((need) => `  ${need}`).join('\n')}`);
  return 0;
}

/** Converts the files, and leaves those that the compiler refuses afterwards. */
function compiling(library: Library, first: string, sources: readonly SourceText[], partial: boolean): Conversion {
  const refused: Finding[] = [];
  for (;;) {
    const conversion = convert(library, sources, { ...readPaths(first), partial, refused });
    if (partial || needsOf(conversion.files).length > 0) return conversion;
    const paths = sources.map(({ path }) => path);
    const errors = newErrors(configOf(first), paths, conversion.files);
    if (errors.length === 0) return conversion;
    const known = refused.length;
    for (const error of errors) {
      // An error in a file that nobody named is one of the file that changed.
      const places = paths.includes(error.path)
        ? [error]
        : conversion.files.map(({ path }) => ({ ...error, path, line: 1 }));
      refused.push(
        ...places.filter((place) => !refused.some(({ path, line }) => path === place.path && line === place.line)),
      );
    }
    if (refused.length === known) return { ...conversion, files: [] };
  }
}
