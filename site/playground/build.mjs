// Bundles the playground, with the container as browsers get it.
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;
const INSPECTOR = join(here, '../../packages/inspector');

/** What all bundles have in common. @satisfies {import('esbuild').BuildOptions} */
const COMMON = /** @type {const} */ ({
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  conditions: ['browser'],
  // The names of errors, which the playground does not use, are in a file that knows SQLSTATEs: nothing of it stays in a bundle.
  external: ['node:*'],
  logLevel: 'warning',
});

/** `?text` gives a file as text, `?bundle` a program with all that it imports as text. @type {import('esbuild').Plugin} */
const asText = {
  name: 'text',
  setup(bundle) {
    bundle.onResolve({ filter: /\?(text|bundle)$/ }, ({ path, importer }) => {
      const [file = '', namespace = ''] = path.split('?');
      return { path: resolve(dirname(importer), file), namespace };
    });
    bundle.onLoad({ filter: /./, namespace: 'text' }, async ({ path }) => ({
      contents: await readFile(path, 'utf8'),
      loader: 'text',
    }));
    bundle.onLoad({ filter: /./, namespace: 'bundle' }, async ({ path }) => {
      const { outputFiles } = await build({ ...COMMON, entryPoints: [path], write: false });
      return { contents: outputFiles[0]?.text ?? '', loader: 'text' };
    });
  },
};

/** The drawing is the inspector's, and so is its Preact: VitePress brings another one. @type {import('esbuild').Plugin} */
const ofInspector = {
  name: 'preact',
  setup(bundle) {
    bundle.onResolve({ filter: /^@?preact(\/|$)/ }, ({ path, kind, pluginData }) =>
      pluginData === ofInspector
        ? undefined
        : bundle.resolve(path, { kind, resolveDir: INSPECTOR, pluginData: ofInspector }),
    );
  },
};

/** @param {string} target */
export async function buildPlayground(target) {
  const entryPoints = [join(here, 'page.ts'), join(here, 'page.css')];
  await build({ ...COMMON, entryPoints, outdir: join(target, 'playground'), plugins: [asText, ofInspector] });
}
