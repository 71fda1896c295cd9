// Converts copies of real programs and prints one row of docs/coming-from/codemods.md for each.
//   node packages/codemod/trials.mjs tsyringe <folder>...
// A file that does not parse afterwards, or that names the library without being listed, is an error.
import { basename } from 'node:path';
import { ts } from 'ts-morph';
import { readPaths, readSources } from './dist/core/program.js';
import { convert, libraryNamed } from './dist/index.js';

const [name, ...folders] = process.argv.slice(2);
const library = libraryNamed(name);
if (!library || folders.length === 0) throw new Error('Usage: node packages/codemod/trials.mjs <library> <folder>...');

const uses = new RegExp(
  String.raw`(?:from|require\(|import\(?)\s*['"](?:${library.modules.join('|')})(?:/[^'"]*)?['"]`,
);

for (const folder of folders) {
  const sources = readSources([folder]);
  const { files, converted, left, checks } = convert(library, sources, readPaths(folder));
  const texts = new Map([
    ...sources.map(({ path, text }) => [path, text]),
    ...files.map(({ path, after }) => [path, after]),
  ]);
  const listed = new Set(left.map(({ path }) => path));
  const kinds = new Map();
  for (const { construct } of left) kinds.set(construct, (kinds.get(construct) ?? 0) + 1);
  const count = Array.from(converted.values()).reduce((sum, one) => sum + one, 0);
  const using = sources.filter(({ text }) => uses.test(text)).length;
  const print = (/** @type {string} */ text) => void process.stdout.write(`${text}\n`);
  print(
    `| ${basename(folder)} | ${sources.length} | ${using} | ${files.length} | ${count + left.length} | ${count} | ${left.length} | ${checks.length} |`,
  );
  print(`  converted: ${shown(converted)}\n  left: ${shown(kinds)}`);
  for (const { path, after } of files) {
    const kind = /\.[jt]sx$/.test(path) ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
    const options = {
      reportDiagnostics: true,
      compilerOptions: { experimentalDecorators: true, jsx: ts.JsxEmit.Preserve },
    };
    const { diagnostics = [] } = ts.transpileModule(after, {
      ...options,
      fileName: kind === ts.ScriptKind.TSX ? 'a.tsx' : 'a.ts',
    });
    for (const { messageText } of diagnostics)
      fail(`${path} does not parse: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  }
  for (const [path, text] of texts)
    if (uses.test(text) && !listed.has(path)) fail(`${path} names ${library.name} and is not listed`);
}

/** @param {ReadonlyMap<string, number>} counts */
function shown(counts) {
  return Array.from(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, number]) => `${number} ${kind}`)
    .join(', ');
}

/** @param {string} why */
function fail(why) {
  process.stderr.write(`${why}\n`);
  process.exitCode = 1;
}
