import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { fileOf } from './facts.js';
import type { Library } from './library.js';

const folder = new URL('../node_modules/.comparison/', import.meta.url);

/** The library with the programs of its file as a minifier leaves them: parameters, variables and classes have other names. */
export async function minified(library: Library): Promise<Library> {
  mkdirSync(folder, { recursive: true });
  const file = new URL(library.file.replace('.ts', '.mjs'), folder);
  await build({
    entryPoints: [fileURLToPath(fileOf(library))],
    outfile: fileURLToPath(file),
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'node20.19',
    packages: 'external',
  });
  const module = (await import(file.href)) as { library: Library };
  return module.library;
}
