// Fails if a public symbol lacks documentation: what it is, each parameter, the result, the errors, an example.
//   node scripts/api-docs.mjs [package ...]
import { relative, resolve } from 'node:path';
import { gapsIn } from './api/gaps.mjs';
import { readApi } from './api/model.mjs';

const root = resolve(import.meta.dirname, '..');
const asked = process.argv.slice(2);
const entries = readApi(root).filter(
  (entry) => asked.length === 0 || asked.some((name) => entry.package.endsWith(`/${name}`)),
);
const gaps = entries.flatMap(({ name, symbols }) =>
  symbols.flatMap((symbol) =>
    gapsIn(symbol).map(({ at, lacks }) => `${relative(root, at.file)}:${at.line} ${name} ${lacks}`),
  ),
);
const count = entries.reduce((sum, { symbols }) => sum + symbols.length, 0);
console.log([...gaps, `${count} symbols of ${entries.length} entry points, ${gaps.length} gaps`].join('\n'));
process.exitCode = gaps.length === 0 ? 0 : 1;
