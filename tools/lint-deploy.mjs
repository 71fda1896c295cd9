// Checks what deploy/ says, and prints what is wrong with it. That its settings work is shown by `npm run lab -- instances`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DCLinter } from 'dclint';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { problemsInManifests } from './deploy/kubernetes.mjs';
import { DISPOSE_SECONDS } from './deploy/kubernetes-design.mjs';

const FOLDER = join(import.meta.dirname, '../deploy');
/** The image of PostgreSQL gives its volume to the user that it becomes then. */
const ROOT_AT_FIRST = 'postgres';

const dockerfiles = readdirSync(FOLDER).filter((name) => name.endsWith('Dockerfile'));
const problems = [
  ...dockerfiles.flatMap(inDockerfile),
  ...inComposeFile('compose.yaml'),
  ...(await inManifests('kubernetes')),
  ...inConnectionLimits(),
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
    ...unpinnedImages(text, /^FROM (\S+)/gm).map((image) => `deploy/${name}: ${image}`),
    ...unless(!/^# *syntax=/m.test(text), `deploy/${name} lets Docker fetch a builder by a tag: leave "# syntax" out`),
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
  /** @type {{ services: Record<string, { cap_drop?: string[], read_only?: boolean, security_opt?: string[] }> }} */
  const { services } = parse(text, { merge: true });
  const loose = Object.entries(services).filter(
    ([service, { cap_drop: dropped, read_only: readOnly, security_opt: options }]) =>
      service !== ROOT_AT_FIRST &&
      !(dropped?.includes('ALL') && readOnly && options?.includes('no-new-privileges:true')),
  );
  const isLongEnough = Number(grace) > Number(shutdownMs) / 1000 + DISPOSE_SECONDS;
  return [
    ...mistakes,
    // What is built here has no digest yet.
    ...unpinnedImages(text, /^ *image: (?!ambit-)(\S+)/gm).map((image) => `deploy/${name}: ${image}`),
    ...loose.map(
      ([service]) =>
        `deploy/${name}: ${service} has rights that it does not need: cap_drop ALL, read_only, no-new-privileges:true`,
    ),
    ...unless(
      isLongEnough,
      `deploy/${name} kills the service before it could shut down: stop_grace_period beyond SHUTDOWN_TIMEOUT_MS`,
    ),
  ];
}

/** A tag can be moved to another image. @param {string} text @param {RegExp} named */
function unpinnedImages(text, named) {
  return Array.from(text.matchAll(named), ([, image = '']) => image)
    .filter((image) => !/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))
    .map((image) => `${image} is to be pinned: name:tag@sha256:...`);
}

/** How many connections each part accepts, and that those of the service fit into what is behind it. */
function inConnectionLimits() {
  const setting = (/** @type {string} */ name, /** @type {RegExp} */ pattern) => Number(pattern.exec(read(name))?.[1]);
  const total = setting('haproxy.cfg', /^ {2}maxconn (\d+)$/m);
  const perClient = setting('haproxy.cfg', /reject if \{ sc0_conn_cur gt (\d+) \}/);
  const perInstance = setting('haproxy.cfg', /^ {2}default-server maxconn (\d+)/m);
  const pooler = setting('pgbouncer.ini', /^max_client_conn = (\d+)$/m);
  const ofInstance = setting('compose.yaml', /DATABASE_POOL_SIZE: '(\d+)'/);
  const instances = Array.from(read('compose.yaml').matchAll(/^ {2}service-\d+:/gm)).length;
  return [
    ...unless(perClient < total, 'deploy/haproxy.cfg: one client may take all connections (maxconn)'),
    ...unless(perInstance < total, 'deploy/haproxy.cfg: one instance may get all connections (default-server maxconn)'),
    ...unless(
      instances * ofInstance < pooler,
      'deploy/pgbouncer.ini: max_client_conn is below what the instances of compose.yaml open',
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
