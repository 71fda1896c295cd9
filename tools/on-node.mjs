// Runs a program on another Node: node tools/on-node.mjs 24 node_modules/vitest/vitest.mjs run
import { delimiter, dirname } from 'node:path';
import { nodeBinary, run } from './binaries.mjs';

const [version = '', ...program] = process.argv.slice(2);
const node = nodeBinary(version);
// First on the PATH too, so that what a test starts by the name `node` is this one.
run(node, program, { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` });
