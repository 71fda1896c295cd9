import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ts } from 'ts-morph';
import type { ChangedFile } from './convert.js';
import { beforeLine } from './diff.js';
import type { Finding } from './model.js';
import { compilerOptions, nearest } from './program.js';

/**
 * The errors of the compiler that a program has only with the changed files.
 * @param config the path of its tsconfig.json
 * @param paths the files of the program
 * @param files those that change
 * @returns each error, with the line before the change
 */
export function newErrors(
  config: string | undefined,
  paths: readonly string[],
  files: readonly ChangedFile[],
): Finding[] {
  const options = optionsOf(config);
  const typed = files.filter(({ path }) => /\.[cm]?tsx?$/.test(path) || options.checkJs);
  if (typed.length === 0) return [];
  const changed = new Map(files.map((file) => [file.path, file]));
  const before = compiled(options, paths, new Map());
  const roots = [...new Set([...paths, ...changed.keys()])];
  const after = compiled(options, roots, new Map(files.map(({ path, after: text }) => [path, text])));
  return after.flatMap(({ path, key, line, code, message }) => {
    const known = before.find((one) => one.key === key && !one.isMatched);
    if (known) {
      known.isMatched = true;
      return [];
    }
    const file = changed.get(path);
    return [{ path, line: file ? beforeLine(file, line) : line, construct: `TS${code} afterwards`, advice: message }];
  });
}

interface CompileError {
  readonly path: string;
  readonly line: number;
  readonly code: number;
  readonly message: string;
  /** The same before and after, where lines differ. */
  readonly key: string;
  isMatched: boolean;
}

function compiled(
  options: ts.CompilerOptions,
  paths: readonly string[],
  texts: ReadonlyMap<string, string>,
): CompileError[] {
  const host = ts.createCompilerHost(options, true);
  const disk = ts.createCompilerHost(options, true);
  host.readFile = (path) => texts.get(path) ?? disk.readFile(path);
  host.fileExists = (path) => texts.has(path) || disk.fileExists(path);
  host.getSourceFile = (path, language, ...more) => {
    const text = texts.get(path);
    return text === undefined
      ? disk.getSourceFile(path, language, ...more)
      : ts.createSourceFile(path, text, language, true);
  };
  const program = ts.createProgram([...paths], options, host);
  return paths.flatMap((path) => {
    const file = program.getSourceFile(path);
    if (!file) return [];
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((one) => {
      const message = ts.flattenDiagnosticMessageText(one.messageText, ' ');
      const line = file.getLineAndCharacterOfPosition(one.start ?? 0).line + 1;
      return { path, line, code: one.code, message, key: `${path} ${one.code} ${message}`, isMatched: false };
    });
  });
}

/** The options of the program, with what older compilers did where they say nothing: this one is newer than theirs may be. */
function optionsOf(config: string | undefined): ts.CompilerOptions {
  return {
    strict: false,
    esModuleInterop: false,
    types: ['*'],
    module: ts.ModuleKind.CommonJS,
    target: ts.ScriptTarget.ES2022,
    ...(config === undefined ? {} : compilerOptions(config)),
    ignoreDeprecations: '6.0',
    noEmit: true,
    skipLibCheck: true,
    allowJs: true,
  };
}

/** What the program needs before the changed files can run, as sentences; none where it can. */
export function needsOf(files: readonly ChangedFile[]): string[] {
  const [first] = files;
  if (!first) return [];
  const missing = new Set(
    files.flatMap(({ path, before, after }) =>
      Array.from(after.matchAll(/['"](@ambit\/[a-z-]+)[^'"]*['"]/g), ([, name = '']) => name).filter(
        (name) => !before.includes(name) && manifestOf(name, dirname(path)) === undefined,
      ),
    ),
  );
  return [
    ...(missing.size > 0 ? [`Install ${Array.from(missing).toSorted().join(' ')} in the program.`] : []),
    ...Array.from(OLDEST, ([name, oldest]) => {
      const { version = oldest } = manifestOf(name, dirname(first.path)) ?? {};
      return isOlder(version, oldest)
        ? [`Update ${name} from ${version} to ${oldest} or later, which can read the packages of Ambit.`]
        : [];
    }).flat(),
    ...(isRefusedByJest(dirname(first.path)) ? [JEST] : []),
  ];
}

const JEST =
  'Let Jest compile the packages of Ambit, which are ES modules: transformIgnorePatterns, as in docs/guides/compilers-and-runtimes.md#jest.';

/** Whether the tests of the folder run in Jest as CommonJS, with nothing in node_modules compiled. */
function isRefusedByJest(folder: string): boolean {
  const manifest = nearest(folder, ['package.json']);
  if (manifest === undefined || manifestOf('jest', dirname(manifest)) === undefined) return false;
  const configs = readdirSync(dirname(manifest)).filter((name) =>
    /^(?:package\.json|.*jest.*\.(?:[cm]?[jt]s|json))$/.test(name),
  );
  const texts = configs.map((name) => readFileSync(join(dirname(manifest), name), 'utf8'));
  return !texts.some((text) => /transformIgnorePatterns[^\]]*@ambit|experimental-vm-modules/s.test(text));
}

/** The oldest tools that can read the packages of Ambit; docs/guides/compilers-and-runtimes.md tries them. */
const OLDEST = new Map([
  ['jest', '29.4.0'],
  ['ts-jest', '29.3.0'],
  ['typescript', '5.4.0'],
]);

function isOlder(version: string, than: string): boolean {
  const [[major = 0, minor = 0] = [], [otherMajor = 0, otherMinor = 0] = []] = [version, than].map((one) =>
    one.split('.').map(Number),
  );
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

/** The manifest of a package that is installed for the folder. */
function manifestOf(name: string, folder: string): { readonly version: string } | undefined {
  const file = join(folder, 'node_modules', name, 'package.json');
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  return dirname(folder) === folder ? undefined : manifestOf(name, dirname(folder));
}
