// Everything CI runs, one named step after another:
//   npm run check                      all steps, but for those that seldom find anything and take long
//   npm run check -- --all             these, too: the whole laboratory, random seeds, the matrix, further versions of Node
//   npm run check -- quick [commit]     what changed since main, in less than half a minute; HEAD~1: another commit than main
//   npm run check -- lint layering     these steps only, after a build where they read what was built
//   npm run check -- --except tests    all but these; --verbose shows the output of steps that pass, too
import { exec, execFileSync, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';

const VITEST = 'node_modules/vitest/vitest.mjs run';
/** `contracts` has what takes long, and what databases guarantee on those that `npm test` leaves out. */
const FAST = `${VITEST} --project shared --project isolated --project contracts`;
const TESTS = `${FAST} --project programs`;
/** Examples and documents: where Node removes types by itself, these run as they are written. */
const WRITTEN = 'examples/test examples/recipes/test tools/test/docs';
/** What uses private fields of Node and of frameworks, or depends on how V8 compiles. */
const ON_NODE =
  'packages/container packages/http packages/express packages/fastify ' +
  'test/hosts/express.isolated test/hosts/fastify.isolated';
const SQLITE = `${VITEST} --project shared --project contracts packages/transaction/test/sqlite packages/transaction/test/pool.contract -t "SQLite|over one file"`;
/** The tests with libraries of others use them as they run here, and start servers of their own from the same packages. */
const BROKERS = 'tools/ensure.sh nats rabbitmq redis';
/** Installed at their first use: only these steps need them. */
const OXFMT = 'node tools/on-node.mjs oxfmt';
const OXLINT = 'node tools/on-node.mjs oxlint';
const WITH_LIBRARIES = 'node tools/on-node.mjs 24 test/libraries/node_modules/vitest/vitest.mjs run --root test';
/** Packages of only some steps have a lock of their own. */
const OLDER_EXPRESS = 'tools/ensure.sh test/versions/express';
const RECIPES = 'tools/ensure.sh examples/recipes && tsc -b examples/recipes && tsc -p examples/recipes/test';
const TABLE = 'node test/runtimes/table.mjs';
const SERVERS = 'tools/ensure.sh postgres mariadb';
/** Another one each time; a failure names the seed of its own, and becomes a fixed case. */
const FIRST_SEED = process.env['FIRST_SEED'] ?? String(randomInt(1, 2 ** 30));
const RANDOM = `FIRST_SEED=${FIRST_SEED}`;

/** @type {Record<string, string>} */
const STEPS = {
  build: 'tsc -b && node packages/inspector/bundle.mjs',
  format: `${OXFMT} --check`,
  lint: OXLINT,
  types: 'node tools/type-tests.mjs',
  unused: 'node tools/on-node.mjs knip --no-config-hints',
  packages: 'node tools/package-shape.mjs',
  consumer: 'node tools/try.mjs npm',
  // A project in CommonJS, one of ES modules, and Jest; `matrix` has all of them.
  compilers: `node tools/matrix.mjs 'commonjs, TypeScript 5.4' 'nodenext, TypeScript 7.0' 'Jest 30, Jest'`,
  'package-managers': 'node tools/try.mjs pnpm yarn',
  beside: 'node tools/beside.mjs',
  'quick-start': 'node tools/try.mjs quick-starts',
  tutorial: 'node tools/on-node.mjs 20.19.0 tools/try.mjs tutorial',
  create: 'tools/ensure.sh postgres && node tools/create.mjs',
  'create-all': 'tools/ensure.sh postgres && node tools/create.mjs --all',
  layering: `${OXLINT} -c oxlint.layering.mjs packages service examples bench test`,
  words: 'node tools/words.mjs',
  api: 'node tools/api.mjs',
  site: 'tools/ensure.sh chromium && npm run --silent docs && tsc -p site && vitest run --config site/vitest.config.mjs',
  'all-pages':
    'tools/ensure.sh chromium && npm run --silent docs && PAGES=all vitest run --config site/vitest.config.mjs test/pages',
  stays: 'node tools/stays.mjs express sqlite',
  simulation: `${OLDER_EXPRESS} && ${RANDOM} SEEDS=20000 vitest run test/simulation test/hosts/crowd`,
  model: `${RANDOM} FC_RUNS=20000 vitest run test/model test/verify-agrees test/graphs-agree`,
  // On Node 20 the package that stands in for `node:sqlite`, on 24 Node's own; on 26 it is in the step of that version.
  sqlite: `node tools/on-node.mjs 24 ${SQLITE}`,
  // The short form of what has found most; with --all, all of them, for hours.
  lab: `${SERVERS} && node lab/run.mjs --often`,
  'lab-all': `${SERVERS} && node lab/run.mjs --all`,
  plans: 'PLAN_ROWS=1000000 vitest run --project contracts service/test/query-plans',
  'check-faults': `${SERVERS} && RUNS=100 FAULTS_OF_A_KIND=10 vitest run --project programs test/hosts/check-faults`,
  // A change of the record is part of a review.
  transactions: `${SERVERS} && node packages/container/dist/main.js check --plans --file service/transactions.json -- vitest run --project shared service/test/orders service/test/story service/test/users && git diff --exit-code service/transactions.json`,
  readme: 'node tools/try.mjs readme',
  // The benchmarks have dependencies of their own.
  documented: `${SERVERS} && tools/ensure.sh bench test/runtimes && tsc -b examples && node tools/documented.mjs`,
  tests: 'vitest run --project shared --project isolated',
  contracts: 'vitest run --project contracts',
  programs: `${RECIPES} && vitest run --project programs`,
  browser: 'tools/ensure.sh chromium && AMBIT_REQUIRE_CHROMIUM=1 vitest run --project browser',
  hosts: `${OLDER_EXPRESS} && vitest run --project hosts`,
  'hosts-all': `${OLDER_EXPRESS} && EVERY_DATABASE=1 vitest run --project hosts isolated.test`,
  'nest-versions': `${BROKERS} && tools/ensure.sh test/versions/nest-10 test/versions/nest-11 test/versions/nest-12 && tsc -p test/versions/nest-12 && vitest run ${[10, 11, 12].map((version) => `--project "Nest ${version}"`).join(' ')} && node test/versions/nest-12/cost.mjs --rounds 1 --requests 20`,
  integrations: `${BROKERS} && node test/libraries/prepare.mjs && tsc -p test && ${WITH_LIBRARIES} --project newest --project "Kysely 0.28"`,
  // Apart from the others, because its packages are 350 MB.
  prisma: `${SERVERS} && node test/libraries/prepare.mjs && node test/orm/prisma/prepare.mjs && tsc -p test/orm/prisma && ${WITH_LIBRARIES} --project Prisma`,
  'prisma-6': `node test/libraries/prepare.mjs && node test/orm/prisma/prepare.mjs && node test/orm/prisma/prepare.mjs 6 && ${WITH_LIBRARIES} --project "Prisma 6"`,
  // These, and the steps of versions of Node, compare what passes with the table of docs/guides/workers.md.
  runtimes: `${OLDER_EXPRESS} && ${TABLE} Bun Deno`,
  workerd: `tools/ensure.sh postgres test/runtimes && tsc -p test/runtimes && ${TABLE} workerd`,
  matrix: 'tools/ensure.sh chromium && node tools/matrix.mjs',
  // The service runs on Node 20, above, and on 24; the packages that others install run on all of them.
  'node-22': `${RECIPES} && node tools/on-node.mjs 22 ${TESTS} packages test/hosts ${WRITTEN} && ${OLDER_EXPRESS} && ${TABLE} "Node 22"`,
  'node-24': `${RECIPES} && node tools/on-node.mjs 24 ${TESTS} && ${OLDER_EXPRESS} && ${TABLE} "Node 24"`,
  'node-26': `node tools/on-node.mjs 26 ${FAST} ${ON_NODE} packages/transaction/test/sqlite && ${OLDER_EXPRESS} && ${TABLE} "Node 26"`,
  'all-26': `${RECIPES} && node tools/on-node.mjs 26 ${TESTS} packages test/hosts ${WRITTEN}`,
};

/** Long, and seldom the first to find a defect: they run where they are named, or with --all. */
const RARE = (
  'simulation model check-faults lab-all stays prisma-6 ' +
  'plans all-pages beside matrix package-managers create-all hosts-all nest-versions node-22 node-24 all-26'
).split(' ');

/** What `readme` runs as well, by `npm test`: these run where they are named. */
const REPEATED = ['tests'];

/** They read only what is written; each other step runs or compiles against what was built. */
const NEED_NO_BUILD = 'build readme format layering words api'.split(' ');

/** A runner of tests says last what failed; what it printed before would hide it among other steps. */
const LINES_OF_FAILURE = 120;

/** How many steps run beside each other: each waits, for processes that it has killed, for Chromium or for npm, about half of its time. */
const AT_ONCE = 2;
/** These begin first, because they take longest. */
const FIRST =
  'readme integrations hosts programs runtimes lab node-26 documented site create contracts quick-start'.split(' ');
/** Steps that install or write the same: one after another. */
const APART = [
  'documented workerd',
  'hosts hosts-all runtimes simulation node-22 node-24 node-26',
  'integrations prisma prisma-6 nest-versions',
  'programs node-22 node-24 all-26',
  'lab lab-all',
  'site all-pages',
].map((names) => names.split(' '));

if (process.argv[2] === 'quick') {
  checkQuickly(process.argv[3] ?? 'main');
  process.exit();
}
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean' }, except: { type: 'boolean' }, verbose: { type: 'boolean' } },
});
const unknown = positionals.filter((name) => !(name in STEPS));
if (unknown.length > 0) {
  console.error(`No step named ${unknown.join(', ')}. The steps: ${Object.keys(STEPS).join(', ')}.`);
  process.exit(2);
}

const named = positionals.length > 0 && !flags.except;
const chosen = Object.keys(STEPS).filter((name) =>
  named
    ? positionals.includes(name)
    : !positionals.includes(name) && !REPEATED.includes(name) && (flags.all === true || !RARE.includes(name)),
);
const isBuildExcepted = flags.except === true && positionals.includes('build');
if (!chosen.includes('build') && !isBuildExcepted && chosen.some((name) => !NEED_NO_BUILD.includes(name)))
  chosen.unshift('build');
const left = [...FIRST.filter((name) => chosen.includes(name)), ...chosen.filter((name) => !FIRST.includes(name))];
/** @type {string[]} */
const failed = [];
/** @type {Set<string>} */
const running = new Set();
if (chosen[0] === 'build') await run(...left.splice(left.indexOf('build'), 1));
await Promise.all(Array.from({ length: AT_ONCE }, runInTurn));
if (failed.length > 0) console.log(`FAIL  ${failed.join(' ')}`);
console.log(`${chosen.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;

async function runInTurn() {
  while (left.length > 0) {
    const next = left.findIndex(
      (name) => !APART.some((names) => names.includes(name) && names.some((each) => running.has(each))),
    );
    // A step that must not run beside the other one waits for it.
    if (next === -1) return;
    await run(...left.splice(next, 1));
  }
}

/** @param {string} [name] */
async function run(name = '') {
  running.add(name);
  if (!(await passes(name, STEPS[name] ?? ''))) failed.push(name);
  running.delete(name);
}

/**
 * @param {string} name
 * @param {string} command
 * @returns {Promise<boolean>}
 */
function passes(name, command) {
  const start = performance.now();
  const seed = command.includes(RANDOM) ? `  ${RANDOM}` : '';
  return new Promise((done) => {
    const program = exec(command, { maxBuffer: 2 ** 28, env: environment() }, (error, stdout, stderr) => {
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`${error ? 'FAIL' : 'pass'}  ${name.padEnd(10)} ${seconds.padStart(6)} s${seed}`);
      const shown = flags.verbose ? Infinity : LINES_OF_FAILURE;
      if (error || flags.verbose) console.log(`      $ ${command}`, endOf(stdout, shown), endOf(stderr, shown));
      done(!error);
    });
    program.stdin?.end();
  });
}

/** @param {string} output @param {number} lines */
function endOf(output, lines) {
  return `\n${output.split('\n').slice(-lines).join('\n')}`;
}

function environment() {
  return { ...process.env, PATH: `${resolve('node_modules/.bin')}${delimiter}${process.env['PATH']}` };
}

/**
 * Checks format, types, lint and words of the files that changed; and that a code has its heading, its status and its place, a channel its row, and a
 * link its target.
 * @param {string} base
 */
function checkQuickly(base) {
  const git = (/** @type {string[]} */ ...args) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const since = git('merge-base', 'HEAD', base);
  const changed = [
    ...git('diff', '--name-only', since).split('\n'),
    ...git('ls-files', '-o', '--exclude-standard').split('\n'),
  ].filter((path) => path !== '' && existsSync(path) && !path.endsWith('package-lock.json'));
  const code = changed.filter((path) => /\.[cm]?[jt]sx?$/.test(path));
  const tests = [
    'tools/test/documents.test.ts',
    'packages/container/test/error-messages',
    'packages/http/test/errors',
    'packages/transaction/test/errors',
  ];

  /** @type {Record<string, string[]>} */
  const steps = {
    format: [...OXFMT.split(' '), '--check', '--no-error-on-unmatched-pattern', ...changed],
    types: ['tsc', '-b'],
    ...(code.length > 0 && { lint: [...OXLINT.split(' '), ...code] }),
    words: [process.execPath, 'tools/words.mjs', ...changed],
    documents: ['vitest', 'run', '--reporter', 'dot', '--no-color', '--project', 'shared', ...tests],
  };
  if (changed.length === 0) console.log(`Nothing has changed since ${since}.`);
  else
    for (const [name, [program = '', ...args]] of Object.entries(steps)) {
      const start = performance.now();
      const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env: environment() });
      console.log(
        `${status === 0 ? 'pass' : 'FAIL'}  ${name.padEnd(10)} ${((performance.now() - start) / 1000).toFixed(1)} s`,
      );
      if (status === 0) continue;
      console.log(stdout + stderr);
      process.exitCode = 1;
    }
}
