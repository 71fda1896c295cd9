// Fails if a public symbol lacks documentation: what it is, each parameter, the result, the errors, an example. Or if there are
// too many names to learn: docs/decisions/0031-packages.md.
import { relative, resolve } from 'node:path';
import { gapsIn } from './api/gaps.mjs';
import { readApi } from './api/model.mjs';

/** How many values an application may import from all packages; each counts once for each entry point that exports it. */
const MOST_VALUES = 120;

/** What only authors of hosts, drivers and adapters import, and the libraries of commands. */
const NOT_FOR_APPLICATIONS = new Set([
  '@ambit/doctor',
  '@ambit/fetch/host',
  '@ambit/http/host',
  '@ambit/http/node',
  '@ambit/testing/hosts',
  '@ambit/testing/pools',
  '@ambit/testing/tools',
  // The names of @ambit/testing.
  '@ambit/transaction/check',
  '@ambit/transaction/testing',
  '@ambit/transaction/extension',
  '@ambit/transaction/host',
  '@ambit/transaction/mariadb',
  'create-ambit',
]);

const root = resolve(import.meta.dirname, '..');
/** The SQL that packages of this repository share, which nobody else imports. */
const OWN_SQL = '@ambit/transaction/databases';
const entries = readApi(root).filter(({ name }) => name !== OWN_SQL);
const gaps = entries.flatMap(({ name, symbols }) =>
  symbols.flatMap(gapsIn).map(({ at, lacks }) => `${relative(root, at.file)}:${at.line} ${name} ${lacks}`),
);
const count = entries.reduce((sum, { symbols }) => sum + symbols.length, 0);
const ofApplications = entries.filter(({ name }) => !NOT_FOR_APPLICATIONS.has(name));
const values = ofApplications.reduce((sum, { values: { length } }) => sum + length, 0);
if (process.argv.includes('--values'))
  for (const { name, values: names } of ofApplications) console.log(`${names.length} ${name}: ${names.join(', ')}`);
console.log([...gaps, `${count} symbols of ${entries.length} entry points, ${gaps.length} gaps`].join('\n'));
console.log(`${values} values for applications, of at most ${MOST_VALUES}`);
process.exitCode = gaps.length === 0 && values <= MOST_VALUES ? 0 : 1;
