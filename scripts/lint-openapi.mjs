// Lints docs/openapi.json with our own rules, and with Redocly's recommended ones, whose warnings are taken as errors.
// The linter is installed once, into .cache/: it would bring more packages than all the rest of the workspace.
import { readFileSync } from 'node:fs';
import { installed, run } from './binaries.mjs';
import { brokenRulesOf } from './openapi-rules.mjs';

const [document, { version }] = ['docs/openapi.json', 'service/package.json'].map((file) =>
  JSON.parse(readFileSync(file, 'utf8')),
);
const problems = brokenRulesOf(document, version);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}

const linter = installed('@redocly/cli', '2.77.0', '@redocly/cli/bin/cli.js', ['--ignore-scripts']);
// The linter would tell its makers about each run.
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
run(process.execPath, [linter, 'lint', 'docs/openapi.json', '--extends=recommended-strict'], env);
