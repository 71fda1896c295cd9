// Runs tests on Bun or Deno: node tools/on-runtime.mjs bun packages/fetch/test
import { run, runtimeBinary } from './binaries.mjs';

/** What makes each runtime run a program with all it needs, and not start Node for it. @type {Record<string, string[]>} */
const RUN = { bun: ['--bun'], deno: ['run', '--allow-all'] };

const [name = '', ...tests] = process.argv.slice(2);
run(runtimeBinary(name), [...(RUN[name] ?? []), 'node_modules/vitest/vitest.mjs', 'run', ...tests]);
