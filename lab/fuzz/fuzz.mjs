/**
 * Texts that nobody thought of, for everything that reads foreign bytes, compared with another reader of the same bytes: `[--runs 20000]
 * [--only sql] [--seed 1]`. Without a seed it draws one; `FC_SEED` and `FC_PATH` replay what a failure has printed. What it finds becomes a
 * fixed case of the package.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../kit/options.mjs';

const { runs, only, seed } = readOptions({ runs: 20_000, seed: 0 });
const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));
const { status } = spawnSync(process.execPath, [vitest, 'run', '--root', import.meta.dirname, only], {
  env: { ...(seed > 0 && { FC_SEED: String(seed) }), ...process.env, FC_RUNS: String(runs) },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
