// Bundles the playground, with the container as browsers get it.
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;

/** A program of the examples as text. @type {import('esbuild').Plugin} */
const asText = {
  name: 'text',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\?text$/ }, ({ path, importer }) => ({
      path: resolve(dirname(importer), path.replace('?text', '')),
      namespace: 'text',
    }));
    onLoad({ filter: /./, namespace: 'text' }, async ({ path }) => ({ contents: await readFile(path, 'utf8'), loader: 'text' }));
  },
};

/** @param {string} target */
export async function buildPlayground(target) {
  await build({
    entryPoints: ['worker.ts', 'container.ts', 'tools.ts', 'page.ts', 'page.css'].map((file) => join(here, file)),
    outdir: join(target, 'playground'),
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['browser'],
    plugins: [asText],
    logLevel: 'warning',
  });
}
