// Runs the sources of the workspace as they are written, and counts which of their statements and branches run.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { createInstrumenter } from 'istanbul-lib-instrument';

const COUNTED = new RegExp(process.env['FUZZ_SOURCES'] ?? '^$');
/** `{ file, from, to }`: a mistake that is made in one place of a source, to see whether it is found. */
const MUTANT = JSON.parse(process.env['FUZZ_MUTANT'] ?? 'null');

const instrumenter = createInstrumenter({ esModules: true, compact: true, produceSourceMap: false });

/** @param {string} url of a built or imported module @returns {string} of its source, if it has one here */
function sourceOf(url) {
  if (!url.startsWith('file:') || url.includes('/node_modules/')) return url;
  const source = url.replace('/dist/', '/src/').replace(/\.js$/, '.ts');
  return existsSync(fileURLToPath(source)) ? source : url;
}

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && context.parentURL?.endsWith('.ts')) {
    const url = sourceOf(new URL(specifier, context.parentURL).href);
    if (url.endsWith('.ts')) return { url, format: 'module', shortCircuit: true };
  }
  const found = await next(specifier, context);
  const url = sourceOf(found.url);
  return url.endsWith('.ts') ? { url, format: 'module', shortCircuit: true } : found;
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const path = fileURLToPath(url);
  const { code } = await transform(mutated(path, readFileSync(path, 'utf8')), { loader: 'ts', target: 'node20' });
  return {
    format: 'module',
    source: COUNTED.test(path) ? instrumenter.instrumentSync(code, path) : code,
    shortCircuit: true,
  };
}

/** @param {string} path @param {string} text */
function mutated(path, text) {
  if (MUTANT === null || !path.endsWith(MUTANT.file)) return text;
  if (text.split(MUTANT.from).length !== 2) throw new Error(`${path} must have ${MUTANT.from} once`);
  return text.replace(MUTANT.from, () => MUTANT.to);
}
