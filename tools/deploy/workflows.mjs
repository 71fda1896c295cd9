import { parse } from 'yaml';

/** A commit, and the version that people read: a tag can be moved to other code. */
const PINNED = /^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
/** What runs code of this repository or of a package. */
const RUNS_CODE = /\b(?:npm (?:ci|i|install|test|run|exec|start)|npx|node|yarn|pnpm|corepack|make|sh|bash) /;

/** @typedef {{ uses?: string, run?: string }} Step */
/** @typedef {{ permissions?: Record<string, string> | string, steps?: Step[] }} Job */

/**
 * What is wrong with a workflow beyond its syntax: actions that are not pinned, and a job that may publish and runs other code.
 * @param {string} text
 * @returns {string[]}
 */
export function workflowProblems(text) {
  const unpinned = Array.from(text.matchAll(/^ *(?:- )?uses: *(.*)$/gm), ([, action = '']) => action.trim())
    .filter((action) => !action.startsWith('./') && !PINNED.test(action))
    .map((action) => `${action} is to be pinned to a commit, with its version: owner/action@<40 digits> # v1.2.3`);
  /** @type {{ permissions?: Job['permissions'], jobs: Record<string, Job> }} */
  const { permissions, jobs } = parse(text);
  const publishing = Object.entries(jobs).filter(([, job]) => mayPublish(job.permissions));
  return [
    ...unpinned,
    ...(permissions === undefined
      ? ['permissions of the workflow are to be named: jobs get those of the repository']
      : []),
    ...(mayPublish(permissions) ? ['id-token: write is for the one job that publishes, not for the workflow'] : []),
    ...publishing.flatMap(([name, job]) => publishingProblems(job).map((problem) => `job ${name}: ${problem}`)),
    ...(publishing.length > 0 ? Object.values(jobs).flatMap(installProblems) : []),
  ];
}

/** What is published is built from what was installed. @param {Job} job */
function installProblems({ steps = [] }) {
  return steps
    .flatMap(({ run = '' }) => run.split('\n'))
    .filter((line) => /\bnpm (?:ci|i|install)\b/.test(line) && !line.includes('--ignore-scripts'))
    .map(
      (line) =>
        `packages are published that were built here, so npm runs no script of another: ${line.trim()} --ignore-scripts`,
    );
}

/** @param {Job['permissions']} permissions */
function mayPublish(permissions) {
  return permissions === 'write-all' || (typeof permissions === 'object' && permissions?.['id-token'] === 'write');
}

/** @param {Job} job */
function publishingProblems({ permissions, steps = [] }) {
  const others = Object.keys(Object(permissions)).filter((name) => name !== 'id-token');
  return [
    ...others.map((name) => `may publish, so it has no other permission: ${name}`),
    ...steps
      .filter(({ uses = '' }) => uses.startsWith('actions/checkout@'))
      .map(() => 'may publish, so it checks nothing out: let another job hand over tarballs'),
    ...steps
      .flatMap(({ run = '' }) => run.split('\n'))
      .flatMap((line) => [
        ...(RUNS_CODE.test(`${line} `) ? [`may publish, so it runs no other code: ${line.trim()}`] : []),
        ...(/\bnpm publish\b/.test(line) && !line.includes('--ignore-scripts')
          ? [`npm publish needs --ignore-scripts: ${line.trim()}`]
          : []),
      ]),
  ];
}
