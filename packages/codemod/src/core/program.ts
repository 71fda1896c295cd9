import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ts } from 'ts-morph';
import type { ConvertOptions } from './convert.js';
import type { SourceText } from './model.js';

const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;
const SKIPPED = new Set(['node_modules', 'dist', 'build', 'coverage']);

/** The source files in the folders, without `node_modules`, build output and declarations. */
export function readSources(paths: readonly string[]): SourceText[] {
  const files = new Set(paths.flatMap((path) => filesIn(resolve(path))));
  return Array.from(files, (path) => ({ path, text: readFileSync(path, 'utf8') }));
}

function filesIn(path: string, named = SOURCE): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (SKIPPED.has(entry.name) || entry.name.startsWith('.')) return [];
      const inner = join(path, entry.name);
      if (entry.isDirectory()) return filesIn(inner, named);
      return entry.isFile() && named.test(entry.name) ? [inner] : [];
    });
}

/** The nearest tsconfig.json or jsconfig.json at or above the path. */
export const configOf = (path: string): string | undefined => nearest(path, ['tsconfig.json', 'jsconfig.json']);

/** The file of the first of these names at or above the path. */
export function nearest(path: string, names: readonly string[]): string | undefined {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const found = names.map((name) => join(folder, name)).find((file) => existsSync(file));
    if (found !== undefined || dirname(folder) === folder) return found;
  }
}

/** `paths` and `baseUrl` of the nearest tsconfig.json or jsconfig.json, with the packages of the workspace. */
export function readPaths(path: string): ConvertOptions {
  const config = configOf(path);
  const read = config === undefined ? {} : fromConfig(config);
  return { ...read, paths: { ...workspacePaths(path), ...read.paths } };
}

/** The outermost folder of the repository with a package.json that holds the path; outside of a repository the innermost. */
function rootOf(path: string): string | undefined {
  const found: string[] = [];
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) found.push(folder);
    if (existsSync(join(folder, '.git'))) return found.at(-1);
    if (dirname(folder) === folder) return found[0];
  }
}

/** Files of the workspace that use the library and are not among the sources: the program is not whole. */
export function usersOutside(path: string, sources: readonly SourceText[], modules: readonly string[]): string[] {
  const root = rootOf(path);
  const isUser = ({ text }: SourceText): boolean =>
    modules.some((name) => text.includes(`'${name}'`) || text.includes(`"${name}"`));
  if (root === undefined || !sources.some(isUser)) return [];
  const named = new Set(sources.map((source) => source.path));
  return readSources([root])
    .filter((source) => !named.has(source.path) && isUser(source))
    .map((source) => source.path);
}

/** The packages of the workspace, which import each other by name, as `paths` of the compiler. */
function workspacePaths(path: string): Record<string, string[]> {
  const root = rootOf(path);
  const manifests = root === undefined ? [] : filesIn(root, /^package\.json$/);
  const paths: Record<string, string[]> = {};
  for (const file of manifests) {
    const { name } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string };
    const folder = dirname(file);
    if (name === undefined || folder === root) continue;
    paths[name] = ['src', 'lib', '.'].map((one) => join(folder, one));
    paths[`${name}/*`] = ['src/*', 'lib/*', '*'].map((one) => join(folder, one));
  }
  return paths;
}

/** The options of the compiler in a tsconfig.json and those that it extends. */
export function compilerOptions(config: string): ts.CompilerOptions {
  const read = ts.readConfigFile(config, (path) => readFileSync(path, 'utf8'));
  const host = { ...ts.sys, readDirectory: () => [] };
  return ts.parseJsonConfigFileContent(read.config ?? {}, host, dirname(config)).options;
}

function fromConfig(config: string): ConvertOptions {
  // Programs for older compilers have it.
  // oxlint-disable-next-line typescript/no-deprecated
  const { paths, baseUrl, pathsBasePath } = compilerOptions(config);
  const base = baseUrl ?? (typeof pathsBasePath === 'string' ? pathsBasePath : dirname(config));
  const absolute = Object.entries(paths ?? {}).map(([key, list]) => [key, list.map((one) => resolve(base, one))]);
  return { ...(baseUrl === undefined ? {} : { baseUrl }), ...(paths ? { paths: Object.fromEntries(absolute) } : {}) };
}
