// Lints docs/openapi.json with our own rules, and with Redocly's recommended ones, whose warnings are taken as errors.
// The linter is installed once, into .cache/: it would bring more packages than all the rest of the workspace.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { brokenRulesOf } from './openapi-rules.mjs';

const LINTER = '@redocly/cli';
const VERSION = '2.77.0';

/**
 * Rules that do not fit this document, each with its reason.
 * @type {Record<string, string>}
 */
const EXCEPTIONS = {};

const [document, { version }] = ['docs/openapi.json', 'service/package.json'].map((file) =>
  JSON.parse(readFileSync(file, 'utf8')),
);
const problems = brokenRulesOf(document, version);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}

const folder = resolve('.cache', `redocly-${VERSION}`);
const program = resolve(folder, 'node_modules', LINTER, 'bin/cli.js');

if (!existsSync(program)) {
  const quietly = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'];
  run('npm', ['install', '--prefix', folder, '--ignore-scripts', ...quietly, `${LINTER}@${VERSION}`]);
}
const skipped = Object.keys(EXCEPTIONS).map((rule) => `--skip-rule=${rule}`);
run(process.execPath, [program, 'lint', 'docs/openapi.json', '--extends=recommended-strict', ...skipped]);

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  // The linter would tell its makers about each run.
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
