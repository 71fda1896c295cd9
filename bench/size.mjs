/**
 * What a container weighs in a bundle: `node bench/size.mjs [--write]`.
 * All exports of its main entry point, minified, with its dependencies; only what every container can do without is left out.
 */
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { table, version, write } from './shared/results.mjs';

const { values: options } = parseArgs({ options: { write: { type: 'boolean', default: false } } });

const PACKAGES = [
  '@ambit/container',
  '@inferdi/inferdi',
  'awilix',
  'inversify',
  '@needle-di/core',
  'ts-ioc-container',
  'tsyringe',
  'typed-inject',
];
/** The metadata polyfill, and what awilix looks for files with. */
const LEFT_OUT = ['reflect-metadata', 'fast-glob', 'camel-case'];
/** The words of Ambit's errors, and the search for what to say. */
const WORDS = ['./errors.js', '../errors.js', './problems.js'];

const rows = [];
for (const name of PACKAGES) rows.push([name, version(name), ...(await weigh(name))]);
rows.splice(1, 0, ['- without the messages of its errors', '', ...(await weigh(PACKAGES[0], WORDS))]);

const text = table(['container', 'version', 'bytes, minified', 'and gzipped'], rows);
console.log(text);
if (options.write) write('size', text);

async function weigh(name, without = []) {
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${name}'`, resolveDir: import.meta.dirname },
    external: [...LEFT_OUT, ...without],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
  });
  const [{ contents }] = outputFiles;
  return [contents.length, gzipSync(contents, { level: 9 }).length].map((bytes) => bytes.toLocaleString('en'));
}
