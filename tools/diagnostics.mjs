import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { compilerFolder } from './on-node.mjs';

const require = createRequire(import.meta.url);

/**
 * @typedef {{ file: string, line: number, message: string }} Diagnostic
 */

/**
 * Runs one of the installed compilers and returns what it complains about.
 * @param {string} compiler `typescript`, which builds, or an older one: `typescript-5.9`
 * @param {string[]} args
 * @returns {Diagnostic[]}
 */
export function diagnose(compiler, args) {
  const tsc = join(compilerFolder(compiler), 'bin/tsc');
  const { stdout, stderr, status } = spawnSync(process.execPath, [tsc, ...args, '--pretty', 'false'], {
    encoding: 'utf8',
  });
  /** @type {Diagnostic[]} */
  const found = [];
  for (const line of stdout.split('\n')) {
    const [, file, row, message] = /^(.+?)\((\d+),\d+\): error (TS\d+: .+)$/.exec(line) ?? [];
    const previous = found.at(-1);
    if (file && message) found.push({ file: resolve(file), line: Number(row), message });
    else if (previous && line.startsWith(' ')) previous.message += `\n${line}`;
    else if (line.includes('error TS')) found.push({ file: '', line: 0, message: line });
  }
  if (status !== 0 && found.length === 0) throw new Error(`${compiler} exited with ${status}: ${stdout}${stderr}`);
  return found;
}

/** @typedef {any} TypeScript up to version 6: the compilers that run in this process, whose types are not installed */

/** The files that projects with the same options share, each parsed once. @type {Map<string, unknown>} */
const parsed = new Map();

/**
 * The same for a project: compilers that can run in this process read the declarations that projects share once.
 * @param {string} compiler
 * @param {string} folder of its `tsconfig.json`
 * @returns {Diagnostic[]}
 */
export function diagnoseProject(compiler, folder) {
  // The one that builds is a program of its own, which cannot run in this process.
  return compiler === 'typescript'
    ? diagnose(compiler, ['-p', folder])
    : complaintsOf(require(compilerFolder(compiler)), compiler, folder);
}

/** @param {TypeScript} ts @param {string} compiler @param {string} folder @returns {Diagnostic[]} */
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
