// Promises the compiler keeps, checked with every TypeScript we support: each folder packages/*/test/types*.
// `// error: some words` promises that the next line of code is refused with these words in the message;
// every other line promises to compile.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { diagnose } from './diagnostics.mjs';

const COMPILERS = ['typescript-5.9', 'typescript-6.0', 'typescript'];

/**
 * @param {string} folder
 * @param {string} compiler
 * @returns {string[]} one line per broken promise
 */
export function brokenPromises(folder, compiler) {
  const promises = filesIn(folder).flatMap(promisesIn);
  const errors = diagnose(compiler, ['-p', folder]);
  /** @param {import('./diagnostics.mjs').Diagnostic} error */
  const isPromised = (error) => promises.some((promise) => keeps(error, promise));

  return [
    ...errors.filter((error) => !isPromised(error)).map((error) => `${at(error)} does not compile: ${error.message}`),
    ...promises
      .filter((promise) => !errors.some((error) => keeps(error, promise)))
      .map((promise) => `${at(promise)} should be refused with: ${promise.words}`),
  ].map((line) => `[${compiler}] ${line}`);
}

/** @typedef {{ file: string, line: number, words: string }} Promised */

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => resolve(folder, name));
}

/** @param {string} file @returns {Promised[]} */
function promisesIn(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((text, index) => {
    const words = /^\s*\/\/ error: (.+)$/.exec(text)?.[1];
    const next = lines.findIndex((later, position) => position > index && !/^\s*\/\//.test(later));
    return words ? [{ file, line: next + 1, words }] : [];
  });
}

/**
 * @param {import('./diagnostics.mjs').Diagnostic} error
 * @param {Promised} promise
 */
function keeps(error, promise) {
  return error.file === promise.file && error.line === promise.line && error.message.includes(promise.words);
}

/** @param {{ file: string, line: number }} place */
function at({ file, line }) {
  return `${relative(process.cwd(), file)}:${line}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folders = readdirSync('packages')
    .map((name) => join('packages', name, 'test'))
    .filter((folder) => existsSync(folder))
    .flatMap((test) => readdirSync(test).map((name) => join(test, name)))
    .filter((folder) => /types[^.]*$/.test(folder) && filesIn(folder).length > 0);
  const broken = folders.flatMap((folder) => COMPILERS.flatMap((compiler) => brokenPromises(folder, compiler)));
  for (const line of broken) console.error(line);
  process.exitCode = broken.length > 0 ? 1 : 0;
}
