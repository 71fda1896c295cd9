import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The texts of errors, and the search for what to say: what happened, where, and how to fix it. */
const WORDS = ['./errors.js', '../errors.js', './problems.js'];

async function gzipped(...without: string[]): Promise<number> {
  const { outputFiles } = await build({
    entryPoints: [at('../src/index.ts')],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    external: without,
  });
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
}

it('the main entry point is less than 13.9 kB, minified and gzipped', async () => {
  expect(await gzipped()).toBeLessThan(13_900);
});

it('the words of errors are a sixth of that', async () => {
  expect(await gzipped(...WORDS)).toBeLessThan(11_550);
});

it('nothing else is installed with it', () => {
  const { dependencies, peerDependencies, optionalDependencies } = JSON.parse(
    readFileSync(at('../package.json'), 'utf8'),
  ) as Record<string, Record<string, string> | undefined>;

  expect(Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })).toEqual([]);
});
