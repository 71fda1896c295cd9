// Makes the files of the page in dist/page: page.js, page-style.css, and the licences of what is bundled. `tsc -b` only
// checks the types of their sources.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

await rm(here('dist/page'), { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { page: here('page/main.tsx'), 'page-style': here('page/styles/page.css') },
  outdir: here('dist/page'),
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  metafile: true,
});

// One for each package that is bundled.
const folders = new Set(
  Object.keys(metafile.inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(path) ?? []),
);
const licences = Array.from(folders, (folder) => readFile(`${folder}LICENSE`, 'utf8'));
await writeFile(here('dist/page/licences.txt'), (await Promise.all(licences)).join('\n\n'));
