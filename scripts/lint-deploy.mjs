// Checks what deploy/ says, and prints what is wrong with it. That its settings work is shown by several-instances.mjs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { problemsInManifests } from './deploy/kubernetes.mjs';
import { DISPOSE_SECONDS } from './deploy/kubernetes-design.mjs';

const FOLDER = join(import.meta.dirname, '../deploy');

const dockerfiles = readdirSync(FOLDER).filter((name) => name.endsWith('Dockerfile'));
const problems = [
  ...dockerfiles.flatMap(inDockerfile),
  ...inComposeFile('compose.yaml'),
  ...(await inManifests('kubernetes')),
];
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

/** @param {string} name */
function inDockerfile(name) {
  const text = read(name);
  const mistakes = validate(text).map(({ range, message }) => {
    const words = typeof message === 'string' ? message : message.value;
    return `deploy/${name}:${range.start.line + 1} ${words}`;
  });
  return [
    ...mistakes,
    ...unless(/^USER (?!root|0\b)/m.test(text), `deploy/${name} runs as root: name a USER`),
    ...unless(
      /^CMD \["/m.test(text),
      `deploy/${name} starts through a shell, which keeps SIGTERM to itself: CMD ["..."]`,
    ),
    ...unless(!/^FROM [^\s:]+(?:\s|$)/m.test(text), `deploy/${name} builds on whatever is newest: give FROM a tag`),
  ];
}

/** @param {string} name */
function inComposeFile(name) {
  const text = read(name);
  const linter = new DCLinter({ rules: {}, quiet: false, debug: false, exclude: [] });
  /** @type {{ messages: { line: number, message: string, rule: string }[] }[]} */
  const results = linter.lintFiles([join(FOLDER, name)], false);
  const mistakes = results
    .flatMap(({ messages }) => messages)
    .map(({ line, message, rule }) => `deploy/${name}:${line} ${message} (${rule})`);
  const [, grace] = /^x-service:[^]*?stop_grace_period: (\d+)s$/m.exec(text) ?? [];
  const [, shutdownMs] = /SHUTDOWN_TIMEOUT_MS: '(\d+)'/.exec(text) ?? [];
  const isLongEnough = Number(grace) > Number(shutdownMs) / 1000 + DISPOSE_SECONDS;
  return [
    ...mistakes,
    ...unless(
      isLongEnough,
      `deploy/${name} kills the service before it could shut down: stop_grace_period beyond SHUTDOWN_TIMEOUT_MS`,
    ),
  ];
}

/** @param {string} folder */
async function inManifests(folder) {
  const names = readdirSync(join(FOLDER, folder));
  const files = Object.fromEntries(names.map((name) => [name, read(join(folder, name))]));
  return (await problemsInManifests(files)).map((problem) => `deploy/${folder}/${problem}`);
}

/** @param {boolean} holds @param {string} problem */
function unless(holds, problem) {
  return holds ? [] : [problem];
}

/** @param {string} name */
function read(name) {
  return readFileSync(join(FOLDER, name), 'utf8');
}
