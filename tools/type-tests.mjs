// Checks with every supported TypeScript which lines compile and which do not: each folder types* in packages/*/test and test/.
// `// error: some words` means that the next line of code has an error with these words in its message;
// every other line must compile.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative, resolve } from 'node:path';
import { compilerFolder, diagnose } from './on-node.mjs';

const require = createRequire(import.meta.url);

/** @typedef {any} TypeScript up to version 6: the compilers that run in this process, whose types are not installed */

/** The files that projects with the same options share, each parsed once. @type {Map<string, unknown>} */
const parsed = new Map();

const COMPILERS = ['typescript-5.9', 'typescript-6.0', 'typescript'];

const OPTIONS = {
  composite: false,
  declaration: false,
  declarationMap: false,
  noEmit: true,
  noUnusedLocals: false,
  noUnusedParameters: false,
};
/** A project without @types/node and without the DOM must compile, declarations of the packages included. */
const WITHOUT_NODE = { lib: ['ES2023', 'ESNext.Disposable'], types: [], skipLibCheck: false };
/** @type {Readonly<Record<string, object>>} */
const OPTIONS_OF = {
  'packages/container/test/types-without-decorators': { experimentalDecorators: false },
  'packages/container/test/types-without-node': WITHOUT_NODE,
  // As the starter of NestJS had it.
  'packages/container/test/types-without-null-checks': { strictNullChecks: false, exactOptionalPropertyTypes: false },
  'packages/orm/test/types-commonjs': { verbatimModuleSyntax: false },
  'packages/transaction/test/types': { ...WITHOUT_NODE, lib: ['ES2023'] },
};

const folders = [...readdirSync('packages').map((name) => `packages/${name}/test`), 'test']
  .filter((folder) => existsSync(folder))
  .flatMap((test) => readdirSync(test).map((name) => `${test}/${name}`))
  .filter((folder) => /types[^.]*$/.test(folder) && filesIn(folder).length > 0);
const broken = folders.flatMap((folder) => COMPILERS.flatMap((compiler) => brokenExpectations(folder, compiler)));
for (const line of broken) console.error(line);
process.exitCode = broken.length > 0 ? 1 : 0;

/**
 * Makes a project of a folder: each is one of its own, because what it declares of `ServiceMap` holds in the whole project.
 * @param {string} compiler
 * @param {string} folder
 */
function diagnoseFolder(compiler, folder) {
  const project = resolve('.cache/types', folder);
  mkdirSync(project, { recursive: true });
  const compilerOptions = { ...OPTIONS, ...OPTIONS_OF[folder] };
  const config = { extends: resolve('tsconfig.base.json'), compilerOptions, include: [resolve(folder)] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  return diagnoseProject(compiler, project);
}

/**
 * @param {string} folder
 * @param {string} compiler
 * @returns {string[]} one line per broken expectation
 */
function brokenExpectations(folder, compiler) {
  const expectations = filesIn(folder).flatMap(expectationsIn);
  const errors = diagnoseFolder(compiler, folder);
  /** @param {import('./on-node.mjs').Diagnostic} error */
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
 * @param {import('./on-node.mjs').Diagnostic} error
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
 * The complaints of a compiler about a project: compilers that can run in this process read the declarations that projects share once.
 * @param {string} compiler
 * @param {string} folder of its `tsconfig.json`
 * @returns {import('./on-node.mjs').Diagnostic[]}
 */
function diagnoseProject(compiler, folder) {
  // The one that builds is a program of its own, which cannot run in this process.
  return compiler === 'typescript'
    ? diagnose(compiler, ['-p', folder])
    : complaintsOf(require(compilerFolder(compiler)), compiler, folder);
}

/** @param {TypeScript} ts @param {string} compiler @param {string} folder @returns {import('./on-node.mjs').Diagnostic[]} */
function complaintsOf(ts, compiler, folder) {
  const fail = (/** @type {any} */ { messageText }) => {
    throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
  };
  const project = ts.getParsedCommandLineOfConfigFile(
    join(resolve(folder), 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: fail,
    },
  );
  if (!project) throw new Error(`${folder} has no tsconfig.json`);
  const { configFilePath: _, pathsBasePath: __, ...shared } = project.options;
  const host = ts.createCompilerHost(project.options);
  const parse = host.getSourceFile.bind(host);
  host.getSourceFile = (/** @type {string} */ name, /** @type {any} */ options, /** @type {unknown[]} */ ...rest) => {
    const key = `${compiler} ${JSON.stringify([shared, typeof options === 'object' ? options.impliedNodeFormat : 0])} ${name}`;
    const file = parsed.get(key) ?? parse(name, options, ...rest);
    if (file) parsed.set(key, file);
    return file;
  };
  const { fileNames: rootNames, options, projectReferences, errors } = project;
  const program = ts.createProgram({
    rootNames,
    options,
    host,
    ...(projectReferences ? { projectReferences } : {}),
    configFileParsingDiagnostics: errors,
  });
  return ts.getPreEmitDiagnostics(program).map((/** @type {any} */ { file, start = 0, code, messageText }) => ({
    file: file ? resolve(file.fileName) : '',
    line: file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0,
    message: `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
  }));
}
