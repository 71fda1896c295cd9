import { posix } from 'node:path';
import { Project, ts } from 'ts-morph';
import { groupsOf, hasHiddenLinks } from './groups.js';
import type { Finding, Library, SourceText } from './model.js';
import { Rewriter } from './rewriter.js';

/** A file that changes. */
export interface ChangedFile {
  /** Its absolute path. */
  readonly path: string;
  /** Its content before the conversion; empty for a new file. */
  readonly before: string;
  /** Its content after the conversion. */
  readonly after: string;
}

/** The result of a conversion. */
export interface Conversion {
  /** How many files were read. */
  readonly read: number;
  /** The files that change, and the new file of a global container. */
  readonly files: readonly ChangedFile[];
  /** How many constructs of each kind were converted. */
  readonly converted: ReadonlyMap<string, number>;
  /** The code that is left to do, by file and line. */
  readonly left: readonly Finding[];
  /** Files that could be converted, and are not: a file that they work with has something that is left. */
  readonly untouched: readonly string[];
  /** Converted code that behaves differently. */
  readonly checks: readonly Finding[];
}

/** How the program resolves its imports. */
export interface ConvertOptions {
  /** `compilerOptions.paths` of its tsconfig.json, with absolute targets. */
  readonly paths?: Readonly<Record<string, readonly string[]>>;
  /** `compilerOptions.baseUrl`, absolute. */
  readonly baseUrl?: string | undefined;
  /** Converts what can be converted, also in files that do not compile until you have changed the rest. Default false. */
  readonly partial?: boolean;
  /** What is known to be wrong with files as they would become, such as errors of the compiler: they stay as they are. */
  readonly refused?: readonly Finding[];
}

/**
 * Converts a program. It reads and writes no files. Files that work together are converted together: where something has to be left, none
 * of them changes, unless the options say `partial`.
 * @param library what is known of the library that the program uses
 * @param sources the files, with absolute paths
 * @param options how imports are resolved
 * @returns the changed files, and what is left
 * @throws Error if two sources have the same path
 * @example
 * ```ts
 * import { readFileSync, writeFileSync } from 'node:fs';
 *
 * const library = libraryNamed('tsyringe');
 * if (!library) throw new Error('Unknown library');
 * const sources = ['/app/src/users.ts', '/app/src/main.ts'].map((path) => ({ path, text: readFileSync(path, 'utf8') }));
 * const { files, left } = convert(library, sources);
 * for (const { path, after } of files) writeFileSync(path, after);
 * for (const { path, line, construct, advice } of left) console.log(`${path}:${line} ${construct}: ${advice}`);
 * ```
 */
export function convert(library: Library, sources: readonly SourceText[], options: ConvertOptions = {}): Conversion {
  const { paths = {}, baseUrl, partial = false, refused = [] } = options;
  const project = new Project({
    useInMemoryFileSystem: true,
    skipLoadingLibFiles: true,
    compilerOptions: {
      allowJs: true,
      noLib: true,
      experimentalDecorators: true,
      jsx: ts.JsxEmit.Preserve,
      target: ts.ScriptTarget.ESNext,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      allowImportingTsExtensions: true,
      paths: {
        ...Object.fromEntries(Object.entries(paths).map(([key, list]) => [key, [...list]])),
        // TypeScript resolved these by `baseUrl`.
        ...(baseUrl === undefined ? {} : { '*': [`${baseUrl}/*`] }),
      },
    },
  });
  // All files first: each is read with what the others declare.
  const files = sources.map(({ path, text }) => project.createSourceFile(path, text));
  const globalModule = freePath(
    commonFolder(files.filter((file) => mentions(library, file.getFullText())).map((file) => file.getFilePath())),
    sources,
  );
  const outcomes = files.map((file, index) => {
    const source = sources[index] as SourceText;
    const rewriter = new Rewriter(file, source.path, library);
    library.convert(rewriter, { files, globalModule });
    const after = rewriter.finish();
    const left = [...rewriter.left, ...refused.filter(({ path }) => path === source.path)].toSorted(
      (a, b) => a.line - b.line,
    );
    return { file, source, after, left, rewriter };
  });
  const using = new Set(
    outcomes.filter(({ source, after, left }) => after !== source.text || left.length > 0).map(({ file }) => file),
  );
  const isShared =
    !library.containers || outcomes.some(({ rewriter }) => rewriter.usesGlobal()) || hasHiddenLinks(files, using);
  const groups = groupsOf(files, using, isShared);
  if (library.containers) {
    const owning = new Set(
      outcomes.filter(({ rewriter }) => rewriter.hasContainer()).map(({ file }) => groups.get(file)),
    );
    for (const { file, source, after, left } of outcomes)
      if (after !== source.text && left.length === 0 && !owning.has(groups.get(file)))
        left.push({ path: source.path, line: 1, ...NO_OWNER });
  }
  const blocked = new Set(outcomes.filter(({ left }) => left.length > 0).map(({ file }) => groups.get(file)));
  const result = {
    read: sources.length,
    files: [] as ChangedFile[],
    converted: new Map<string, number>(),
    left: [] as Finding[],
    checks: [] as Finding[],
    untouched: [] as string[],
  };
  for (const { file, source, after, left, rewriter } of outcomes) {
    result.left.push(...left);
    if (!partial && blocked.has(groups.get(file))) {
      if (left.length === 0 && after !== source.text) result.untouched.push(source.path);
      continue;
    }
    if (after !== source.text) result.files.push({ path: source.path, before: source.text, after });
    for (const [kind, count] of rewriter.converted)
      result.converted.set(kind, (result.converted.get(kind) ?? 0) + count);
    result.checks.push(...rewriter.checks.toSorted((a, b) => a.line - b.line));
  }
  if (result.files.some(({ path, after }) => importsGlobal(path, after, globalModule)))
    result.files.push({ path: globalModule, before: '', after: GLOBAL });
  return result;
}

const NO_OWNER = {
  construct: 'no container in the program',
  advice: 'a package makes the container that this file works with, or a file that was not named',
};

const GLOBAL = `import { Container } from '@ambit/container';

/** The container of the application. */
export const container = new Container({ tags: ['application'] });
`;

const mentions = (library: Library, text: string): boolean => library.modules.some((one) => text.includes(one));

function importsGlobal(path: string, text: string, globalModule: string): boolean {
  const bare = posix.relative(posix.dirname(path), globalModule).replace(/\.ts$/, '');
  return new RegExp(
    String.raw`(?:im|ex)port \{ container(?: as \w+)? } from ['"](?:\./)?${bare.replaceAll('.', String.raw`\.`)}(?:\.[jt]s)?['"]`,
  ).test(text);
}

function commonFolder(paths: readonly string[]): string {
  const folders = paths.map((path) => posix.dirname(path).split('/'));
  const [first = [''], ...others] = folders;
  let depth = first.length;
  for (const other of others) {
    const differs = first.findIndex((part, i) => part !== other[i]);
    if (differs !== -1) depth = Math.min(depth, differs);
  }
  return first.slice(0, depth).join('/');
}

function freePath(folder: string, sources: readonly SourceText[]): string {
  const taken = (name: string) =>
    sources.some(({ path }) => path.toLowerCase().startsWith(posix.join(folder, name).toLowerCase()));
  const name = taken('container.') || taken('container/') ? 'ambit-container.ts' : 'container.ts';
  return posix.join(folder, name);
}
