// Fails if a public symbol lacks documentation: what it is, each parameter, the result, the errors, an example.
import { relative, resolve } from 'node:path';
import { gapsIn } from './api/gaps.mjs';
import { readApi } from './api/model.mjs';

const root = resolve(import.meta.dirname, '..');
const entries = readApi(root);
const gaps = entries.flatMap(({ name, symbols }) =>
  symbols.flatMap(gapsIn).map(({ at, lacks }) => `${relative(root, at.file)}:${at.line} ${name} ${lacks}`),
);
const count = entries.reduce((sum, { symbols }) => sum + symbols.length, 0);
console.log([...gaps, `${count} symbols of ${entries.length} entry points, ${gaps.length} gaps`].join('\n'));
process.exitCode = gaps.length === 0 ? 0 : 1;
