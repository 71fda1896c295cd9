// Lints docs/openapi.json with Redocly and tools/redocly.yaml, and with what no rule there can say: the version, and that the page can
// try every operation. The linter is installed once, into .cache/: it would bring more packages than all the rest of the workspace.
import { readFileSync } from 'node:fs';
import { installed, run } from './binaries.mjs';

/** @typedef {Record<string, any>} Part */

const DOCUMENT = 'docs/openapi.json';
/** @type {Part[]} */
const [document = {}, manifest = {}] = [DOCUMENT, 'service/package.json'].map((file) =>
  JSON.parse(readFileSync(file, 'utf8')),
);
/** @type {Part[]} */
const operations = Object.values(document['paths']).flatMap((path) => Object.values(path));

const problems = operations.flatMap((operation) =>
  parametersOf(operation)
    .filter(
      (parameter) => parameter['required'] && parameter['example'] === undefined && !isLinked(operation, parameter),
    )
    .map(({ name }) => `${operation['operationId']} cannot be tried: ${name} has no example, and no link fills it`),
);
if (document['info'].version !== manifest['version']) problems.push(`info.version is not ${manifest['version']}`);
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exit(1);
}
const linter = installed('@redocly/cli', '2.77.0', '@redocly/cli/bin/cli.js', ['--ignore-scripts']);
// The linter would tell its makers about each run.
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
run(process.execPath, [linter, 'lint', DOCUMENT, '--config=tools/redocly.yaml'], env);

/** @param {Part} operation @returns {Part[]} */
function parametersOf(operation) {
  return (operation['parameters'] ?? []).map((/** @type {Part} */ parameter) =>
    parameter['$ref'] ? document['components'].parameters[parameter['$ref'].split('/').at(-1)] : parameter,
  );
}

/** Whether a response of another operation has the value of the parameter. @param {Part} wanted @param {Part} parameter */
function isLinked(wanted, parameter) {
  return operations
    .flatMap(({ responses }) => Object.values(responses))
    .flatMap(({ links = {} }) => Object.values(links))
    .some(({ operationId, parameters }) => operationId === wanted['operationId'] && parameter['name'] in parameters);
}
