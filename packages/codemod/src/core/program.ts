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

function filesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      if (SKIPPED.has(entry.name) || entry.name.startsWith('.')) return [];
      const inner = join(path, entry.name);
      if (entry.isDirectory()) return filesIn(inner);
      return entry.isFile() && SOURCE.test(entry.name) ? [inner] : [];
    });
}

/** `paths` and `baseUrl` of the nearest tsconfig.json or jsconfig.json at or above the path. */
export function readPaths(path: string): ConvertOptions {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    for (const name of ['tsconfig.json', 'jsconfig.json']) {
      const file = join(folder, name);
      if (existsSync(file)) return fromConfig(file);
    }
    if (dirname(folder) === folder) return {};
  }
}

function fromConfig(file: string): ConvertOptions {
  const read = ts.readConfigFile(file, (path) => readFileSync(path, 'utf8'));
  const config = (read.config ?? {}) as { compilerOptions?: { paths?: Record<string, string[]>; baseUrl?: string } };
  const { paths, baseUrl } = config.compilerOptions ?? {};
  const base = resolve(dirname(file), baseUrl ?? '.');
  return {
    ...(baseUrl === undefined ? {} : { baseUrl: base }),
    ...(paths
      ? {
          paths: Object.fromEntries(
            Object.entries(paths).map(([key, list]) => [key, list.map((one) => resolve(base, one))]),
          ),
        }
      : {}),
  };
}
