import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

const require = createRequire(import.meta.url);

/**
 * @typedef {{ file: string, line: number, message: string }} Diagnostic
 */

/**
 * Runs one of the installed compilers and returns what it complains about.
 * @param {string} compiler the name of the installed package: `typescript`, `typescript-5.9`, ...
 * @param {string[]} args
 * @returns {Diagnostic[]}
 */
export function diagnose(compiler, args) {
  const tsc = join(dirname(require.resolve(`${compiler}/package.json`)), 'bin/tsc');
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
  if (status !== 0 && found.length === 0) throw new Error(`${compiler} ended with ${status}: ${stdout}${stderr}`);
  return found;
}

/** @typedef {typeof import('typescript-5.9')} TypeScript up to version 6: the compilers that run in this process */

/** The files that projects with the same options share, each parsed once. @type {Map<string, import('typescript-5.9').SourceFile>} */
const parsed = new Map();

/**
 * The same for a project: compilers that can run in this process read the declarations that projects share once.
 * @param {string} compiler
 * @param {string} folder of its `tsconfig.json`
 * @returns {Diagnostic[]}
 */
export function diagnoseProject(compiler, folder) {
  const ts = /** @type {Partial<TypeScript>} */ (require(compiler));
  return 'createProgram' in ts
    ? complaintsOf(/** @type {TypeScript} */ (ts), compiler, folder)
    : diagnose(compiler, ['-p', folder]);
}

/** @param {TypeScript} ts @param {string} compiler @param {string} folder @returns {Diagnostic[]} */
function complaintsOf(ts, compiler, folder) {
  /** @param {import('typescript-5.9').Diagnostic} diagnostic */
  const fail = ({ messageText }) => {
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
  host.getSourceFile = (name, options, ...rest) => {
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
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, code, messageText }) => ({
    file: file ? resolve(file.fileName) : '',
    line: file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0,
    message: `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
  }));
}
