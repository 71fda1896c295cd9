// Makes the files of the page in dist/page: page.js, theme.js, stream.js and page-style.css. `tsc -b` only checks the types of their sources.
import { rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

await rm(here('dist/page'), { recursive: true, force: true });
await build({
  entryPoints: {
    page: here('page/main.ts'),
    theme: here('page/theme.ts'),
    stream: here('page/stream/stream-worker.ts'),
    'page-style': here('page/styles/page.css'),
  },
  outdir: here('dist/page'),
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
});
