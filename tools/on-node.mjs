// Runs a program on another version of Node, or on another runtime:
//   node tools/on-node.mjs 24 node_modules/vitest/vitest.mjs run
//   node tools/on-node.mjs bun node_modules/vitest/vitest.mjs run packages/fetch/test
//   node tools/on-node.mjs knip
import { delimiter, dirname } from 'node:path';
import { nodeBinary, programBinary, run } from './binaries.mjs';

/** Makes each runtime run a program with all it needs, and not start Node for it. @type {Record<string, string[]>} */
const RUN = { bun: ['--bun'], deno: ['run', '--allow-all'] };

const [name = '', ...program] = process.argv.slice(2);
if (/^\d/.test(name)) {
  const node = nodeBinary(name);
  // First on the PATH too, so that what a test starts by the name `node` is this one.
  run(node, program, { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` });
} else run(programBinary(name), [...(RUN[name] ?? []), ...program]);
