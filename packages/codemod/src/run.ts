import { existsSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { awilix } from './awilix.js';
import { type ChangedFile, type Conversion, convert } from './core/convert.js';
import { type Finding, LIBRARIES, type Library, type LibraryName } from './core/model.js';
import { readPaths, readSources } from './core/program.js';
import { inversify } from './inversify.js';
import { tsyringe } from './tsyringe.js';

const ALL: readonly Library[] = [awilix, tsyringe, inversify];

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

/** The lines that differ, with up to `context` lines around them, as `diff -u` prints them. */
function diff({ before, after }: ChangedFile, name: string, context = 2): string {
  const [a, b] = [before === '' ? [] : before.split('\n'), after.split('\n')];
  const lines = aligned(a, b);
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - context), i + context + 1).some(({ sign }) => sign !== ' '),
  );
  const out = [`--- ${before === '' ? '/dev/null' : name}`, `+++ ${name}`];
  for (const [i, { sign, text, line }] of lines.entries()) {
    if (!near[i]) continue;
    if (i === 0 || !near[i - 1]) out.push(`@@ line ${line} @@`);
    out.push(sign + text);
  }
  return out.join('\n');
}

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
  /** In the text before, from 1. */
  readonly line: number;
}

/** Both texts side by side, by their longest common subsequence of lines. */
function aligned(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const width = y.length + 1;
  const lengths = new Uint32Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        x[i] === y[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
  const lines: Line[] = a.slice(0, start).map((text, i) => ({ sign: ' ', text, line: i + 1 }));
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    const line = start + i + 1;
    if (i < x.length && j < y.length && x[i] === y[j]) {
      lines.push({ sign: ' ', text: x[i] ?? '', line });
      i++;
      j++;
    } else if (
      i < x.length &&
      (j === y.length || (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))
    )
      lines.push({ sign: '-', text: x[i++] ?? '', line });
    else lines.push({ sign: '+', text: y[j++] ?? '', line });
  }
  return [
    ...lines,
    ...a.slice(a.length - end).map((text, k) => ({ sign: ' ' as const, text, line: a.length - end + k + 1 })),
  ];
}

/** The report as text. `show` shortens a path. */
export function report(conversion: Conversion, library: LibraryName, show: (path: string) => string): string {
  const { converted, left, checks, files, read } = conversion;
  const count = total(converted);
  const kinds = Array.from(converted).toSorted(([a, x], [b, y]) => y - x || a.localeCompare(b));
  const line = ({ path, line: at, construct, advice }: Finding) =>
    `  ${show(path)}:${at}  ${construct}\n      ${advice}`;
  return [
    `${plural(read, 'file')} read, ${files.length} changed. ${plural(count, 'construct')} converted, ${left.length} left.`,
    ...kinds.map(([kind, number]) => `  ${String(number).padStart(4)}  ${kind}`),
    ...(left.length > 0 ? ['', 'Left for you:', ...left.map(line)] : []),
    ...(checks.length > 0 ? ['', 'Converted, and different from before:', ...checks.map(line)] : []),
    ...(left.length + checks.length > 0 ? ['', `What to write instead: docs/coming-from/${library}.md`] : []),
  ].join('\n');
}

/** How many constructs were converted. */
const total = (converted: ReadonlyMap<string, number>): number =>
  Array.from(converted.values()).reduce((sum, one) => sum + one, 0);

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const USAGE = `Usage: ambit-codemod ${LIBRARIES.join('|')} <files or folders> [--write]

Converts a program to @ambit/container. Without --write it prints the changes; with it, it writes them.`;

/** The command line. Returns the exit code: 0, or 2 for wrong usage. */
export function run(args: readonly string[], print: (text: string) => void, complain: (text: string) => void): 0 | 2 {
  const unknown = args.find((one) => one.startsWith('-') && !['--write', '--help'].includes(one));
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

  const conversion = convert(library, readSources(paths), readPaths(first));
  const show = (path: string) => relative(process.cwd(), path);
  for (const file of conversion.files) {
    if (args.includes('--write')) writeFileSync(file.path, file.after);
    else print(diff(file, show(file.path)));
  }
  print(report(conversion, library.name, show));
  return 0;
}
