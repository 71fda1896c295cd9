import { readFileSync } from 'node:fs';
import type { Library } from './library.js';

interface Manifest {
  version: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8')) as Manifest;

export const versionOf = (library: Library): string => manifestOf(library.package).version;

/** All packages that an application installs with this one: its dependencies, their dependencies, and the peers that are not optional. */
export function dependenciesOf(name: string, seen = new Set<string>()): string[] {
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifestOf(name);
  const peers = Object.keys(peerDependencies).filter((peer) => peerDependenciesMeta[peer]?.optional !== true);
  for (const needed of [...Object.keys(dependencies), ...peers]) {
    if (seen.has(needed)) continue;
    seen.add(needed);
    dependenciesOf(needed, seen);
  }
  return [...seen];
}

export const fileOf = (library: Library): URL => new URL(`libraries/${library.file}`, import.meta.url);

/** The text of a method in the file of a library, with its comments. */
export function sourceOf(library: Library, method: keyof Library): string {
  const text = readFileSync(fileOf(library), 'utf8');
  const source = new RegExp(`^  (?:async )?${method}\\([^]*?^  \\},$`, 'm').exec(text);
  if (source === null) throw new Error(`${library.title} has no method ${method}`);
  return source[0];
}
