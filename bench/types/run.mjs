/**
 * What checking a graph costs the compiler: `node bench/types/run.mjs [--write]`.
 * `--sizes 50,200` and `--rounds 1` shorten it.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { table, version, write } from '../shared/results.mjs';
import { CONTESTANTS, source } from './generate.mjs';

const { values: options } = parseArgs({
  options: {
    write: { type: 'boolean', default: false },
    sizes: { type: 'string', default: '50,200,500,2000' },
    rounds: { type: 'string', default: '3' },
  },
});
const sizes = options.sizes.split(',').map(Number);
const rounds = Number(options.rounds);
const TIME_LIMIT_MS = 60_000;

/** The programs that are measured import the packages of bench/, so they are written there. */
const folder = fileURLToPath(new URL('generated', import.meta.url));
const file = join(folder, 'graph.ts');
const compilerOptions = {
  strict: true,
  target: 'es2023',
  module: 'nodenext',
  noEmit: true,
  skipLibCheck: true,
  types: [],
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
};
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));

const require = createRequire(import.meta.url);
const tsc = (compiler) => join(dirname(require.resolve(`${compiler}/package.json`)), 'bin/tsc');
/** Seconds of check time, the least of all rounds, and instantiations; `failed` where the compiler did not finish. */
function check(compiler) {
  const runs = [];
  for (let round = 0; round < rounds; round++) {
    const { stdout, status, signal } = spawnSync(
      process.execPath,
      [tsc(compiler), '-p', folder, '--extendedDiagnostics', '--pretty', 'false'],
      { encoding: 'utf8', timeout: TIME_LIMIT_MS },
    );
    const errors = stdout?.match(/error TS\d+: [^\n]{0,60}/);
    if (status !== 0) return { failed: signal ? `over ${TIME_LIMIT_MS / 1000} s` : (errors?.[0] ?? 'out of memory') };
    const number = (name) => Number(new RegExp(`${name}:\\s+([\\d.]+)`).exec(stdout)?.[1]);
    runs.push({ seconds: number('Check time'), instantiations: number('Instantiations') });
  }
  return runs.toSorted((one, two) => one.seconds - two.seconds)[0];
}

const COMPILERS = ['typescript', 'typescript-5.9'];
const shown = ({ failed, seconds, instantiations }) =>
  failed ? [failed, '-'] : [seconds.toFixed(2), instantiations.toLocaleString('en')];
const rows = [];
for (const size of sizes)
  for (const contestant of Object.keys(CONTESTANTS)) {
    writeFileSync(file, source(contestant, size));
    const row = [
      String(size),
      contestant,
      version(contestant),
      ...COMPILERS.flatMap((compiler) => shown(check(compiler))),
    ];
    rows.push(row);
    console.log(row.join('  '));
  }
const heads = COMPILERS.flatMap((compiler) => [`seconds, TypeScript ${version(compiler)}`, 'instantiations']);
const text = table(['services', 'contestant', 'version', ...heads], rows);

console.log(text);
rmSync(folder, { recursive: true, force: true });
if (options.write) write('types', text);
