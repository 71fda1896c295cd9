// Everything CI runs, one named step after another:
//   npm run check                      all steps
//   npm run check -- lint layering     these steps only
//   npm run check -- --except tests    all but these; --verbose shows the output of steps that pass, too
import { spawnSync } from 'node:child_process';
import { delimiter, resolve } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';

/** What runs on Bun and Deno as well: their tests use the container, transactions and both databases. */
const ON_FETCH = 'packages/fetch/test packages/host-contract/test/fetch packages/host-contract/test/crowd';

const TESTS = 'node_modules/vitest/vitest.mjs run --project shared --project isolated';
/** Examples and documents: where Node removes types by itself, these run as they are written. */
const WRITTEN = 'examples/test scripts/test/docs';
const FEWER_RUNS = 'SEEDS=2000 FC_RUNS=1000';
/** Pages run in a browser, whatever version of Node serves them. */
const NO_PAGES = "--exclude '**/browser/**' --exclude '**/*-browser.test.ts'";

/** @type {Record<string, string>} */
const STEPS = {
  build: 'tsc -b && node packages/inspector/bundle.mjs',
  format: 'oxfmt --check',
  lint: 'oxlint',
  types: 'node scripts/type-tests.mjs',
  unused: 'knip',
  packages: 'node scripts/package-shape.mjs',
  consumer: 'node scripts/consumer.mjs',
  'package-managers': 'node scripts/consumer.mjs pnpm yarn',
  'quick-start': 'node scripts/quick-start.mjs',
  tutorial: 'node scripts/on-node.mjs 24 scripts/tutorial.mjs',
  layering: 'node scripts/layering.mjs',
  words: 'node scripts/words.mjs',
  api: 'node scripts/api-docs.mjs',
  openapi: 'node scripts/lint-openapi.mjs',
  deploy: 'node scripts/lint-deploy.mjs',
  workflows: 'node scripts/lint-workflows.mjs',
  release: 'node scripts/release.mjs --dry-run',
  site: 'scripts/ensure-chromium.sh && npm run --silent docs && tsc -p site && vitest run --config site/vitest.config.mjs',
  'files-per-request': 'node scripts/files-per-request.mjs',
  instances: 'node scripts/several-instances.mjs',
  rollouts: 'node scripts/rollouts.mjs',
  simulation: 'SEEDS=20000 vitest run test/simulation',
  pipelines: 'PIPELINED=100000 vitest run --project isolated --silent=false test/pipelines',
  'nothing-lost': 'node service/chaos/nothing-lost.mjs --seconds 30',
  failover: 'node service/failover/failover.mjs',
  events: 'node service/chaos/events.mjs --seconds 16 --host fastify',
  // The delay makes sure that reads without the cookie miss writes, on a fast machine, too.
  'read-your-writes': 'node service/chaos/read-your-writes.mjs --reads 2000 --lag 20',
  concurrency: 'node service/chaos/concurrency.mjs --seconds 10',
  plans: 'PLAN_ROWS=1000000 vitest run service/test/query-plans',
  shutdown: 'node service/chaos/shutdown.mjs --rounds 1',
  browser:
    'scripts/ensure-chromium.sh && AMBIT_REQUIRE_CHROMIUM=1 vitest run inspector/test/browser service/test/docs-page',
  tests: 'vitest run --project shared --project isolated',
  hosts: 'vitest run --project more-hosts',
  integrations:
    'node integrations/prepare.mjs && tsc -p integrations && node scripts/on-node.mjs 24 integrations/node_modules/vitest/vitest.mjs run --root integrations',
  // Chromium starts slowly on a busy machine, so this is the proof that tests in parallel see their own data only, not its speed.
  sandboxes:
    'scripts/ensure-chromium.sh && npm ci --prefix integrations/playwright --ignore-scripts --no-audit --no-fund && tsc -p integrations/playwright && node integrations/playwright/run.mjs --browser --tests 24 --only sandbox',
  // Apart from the others, because its packages are 350 MB.
  prisma:
    'node integrations/prepare.mjs && node integrations/prisma/prepare.mjs && tsc -p integrations/prisma && node scripts/on-node.mjs 24 integrations/node_modules/vitest/vitest.mjs run --root integrations/prisma',
  runtimes: `node scripts/on-runtime.mjs bun ${ON_FETCH} && node scripts/on-runtime.mjs deno ${ON_FETCH}`,
  matrix: 'scripts/ensure-chromium.sh && node scripts/matrix.mjs',
  // The service runs on Node 20, above, and on 24; the packages that others install run on all of them.
  'node-22': `${FEWER_RUNS} node scripts/on-node.mjs 22 ${TESTS} ${NO_PAGES} packages ${WRITTEN}`,
  'node-24': `${FEWER_RUNS} node scripts/on-node.mjs 24 ${TESTS} ${NO_PAGES}`,
  'node-26': `${FEWER_RUNS} node scripts/on-node.mjs 26 ${TESTS} ${NO_PAGES} packages ${WRITTEN}`,
};

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { except: { type: 'boolean' }, verbose: { type: 'boolean' } },
});
const unknown = positionals.filter((name) => !(name in STEPS));
if (unknown.length > 0) {
  console.error(`No step named ${unknown.join(', ')}. The steps: ${Object.keys(STEPS).join(', ')}.`);
  process.exit(2);
}

const chosen = Object.entries(STEPS).filter(
  ([name]) => positionals.length === 0 || positionals.includes(name) !== (flags.except ?? false),
);
const failed = chosen.filter(([name, command]) => !passes(name, command));
console.log(`${chosen.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;

/**
 * @param {string} name
 * @param {string} command
 */
function passes(name, command) {
  const start = performance.now();
  const { status, stdout, stderr } = spawnSync(command, {
    shell: true,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: `${resolve('node_modules/.bin')}${delimiter}${process.env['PATH']}` },
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'pass' : 'FAIL'}  ${name.padEnd(10)} ${seconds.padStart(6)} s`);
  if (status !== 0 || flags.verbose) console.log(`      $ ${command}\n${stdout}${stderr}`);
  return status === 0;
}
