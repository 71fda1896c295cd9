// Checks with every supported TypeScript which lines compile and which do not: each folder types* in packages/*/test and test/.
// `// error: some words` means that the next line of code has an error with these words in its message;
// every other line must compile. In a folder with an `errors.md`, that file has the whole message of each error, of each compiler;
// `node tools/type-tests.mjs --write` writes it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { diagnoseProject } from './diagnostics.mjs';

const COMPILERS = ['typescript-5.9', 'typescript-6.0', 'typescript'];

/**
 * @param {string} folder
 * @param {string} compiler
 * @returns {string[]} one line per broken expectation
 */
export function brokenExpectations(folder, compiler) {
  const expectations = filesIn(folder).flatMap(expectationsIn);
  const errors = diagnoseProject(compiler, folder);
  /** @param {import('./diagnostics.mjs').Diagnostic} error */
  const isExpected = (error) => expectations.some((expected) => matches(error, expected));

  return [
    ...errors.filter((error) => !isExpected(error)).map((error) => `${at(error)} does not compile: ${error.message}`),
    ...expectations
      .filter((expected) => !errors.some((error) => matches(error, expected)))
      .map((expected) => `${at(expected)} should be refused with: ${expected.words}`),
  ].map((line) => `[${compiler}] ${relative(process.cwd(), folder)}: ${line}`);
}

/** @typedef {{ file: string, line: number, words: string }} Expectation */

/** @param {string} folder */
function filesIn(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .map((name) => resolve(folder, name));
}

/** @param {string} file @returns {Expectation[]} */
function expectationsIn(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((text, index) => {
    const words = /^\s*\/\/ error: (.+)$/.exec(text)?.[1];
    const next = lines.findIndex((later, position) => position > index && !/^\s*\/\//.test(later));
    return words ? [{ file, line: next + 1, words }] : [];
  });
}

/**
 * @param {import('./diagnostics.mjs').Diagnostic} error
 * @param {Expectation} expected
 */
function matches(error, expected) {
  return error.file === expected.file && error.line === expected.line && error.message.includes(expected.words);
}

/** @param {{ file: string, line: number }} place */
function at({ file, line }) {
  return `${relative(process.cwd(), file)}:${line}`;
}

/**
 * The messages of the compilers, each once: compilers of one opinion share a line.
 * @param {string} folder
 */
export function messages(folder) {
  /** @type {Map<string, Map<string, string[]>>} */
  const found = new Map();
  for (const compiler of COMPILERS)
    for (const { file, line, message } of diagnoseProject(compiler, folder)) {
      const key = `${relative(folder, file)} ${codeAt(file, line)}`;
      const texts = found.get(key) ?? new Map();
      found.set(key, texts.set(message, [...(texts.get(message) ?? []), compiler]));
    }
  return [...found]
    .map(([key, texts]) => {
      const said = [...texts].map(
        ([text, by]) => `${by.length < COMPILERS.length ? `${by.join(', ')}:\n` : ''}${text}`,
      );
      const [file, ...code] = key.split(' ');
      return `## ${file}: \`${code.join(' ')}\`\n\n\`\`\`text\n${said.join('\n\n')}\n\`\`\`\n`;
    })
    .join('\n');
}

/** @param {string} file @param {number} line */
const codeAt = (file, line) => (readFileSync(file, 'utf8').split('\n')[line - 1] ?? '').trim();

/** @param {string} folder @returns {string[]} */
function differences(folder) {
  const golden = join(folder, 'errors.md');
  const now = `# What the compilers say\n\n${messages(folder)}`;
  if (process.argv.includes('--write')) writeFileSync(golden, now);
  return now === readFileSync(golden, 'utf8')
    ? []
    : [`${golden} is another one now: node tools/type-tests.mjs --write`];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const folders = [...readdirSync('packages').map((name) => join('packages', name, 'test')), 'test']
    .filter((folder) => existsSync(folder))
    .flatMap((test) => readdirSync(test).map((name) => join(test, name)))
    .filter((folder) => /types[^.]*$/.test(folder) && filesIn(folder).length > 0);
  const broken = folders.flatMap((folder) =>
    existsSync(join(folder, 'errors.md'))
      ? differences(folder)
      : COMPILERS.flatMap((compiler) => brokenExpectations(folder, compiler)),
  );
  for (const line of broken) console.error(line);
  process.exitCode = broken.length > 0 ? 1 : 0;
}
