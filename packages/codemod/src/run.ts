import { existsSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { convert } from './core/convert.js';
import { diff } from './core/diff.js';
import { LIBRARIES } from './core/model.js';
import { readPaths, readSources } from './core/program.js';
import { report } from './core/report.js';
import { libraryNamed } from './libraries.js';

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
