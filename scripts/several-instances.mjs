// Runs two instances of the service on one PostgreSQL and prints what held:
//   node scripts/several-instances.mjs                  directly, and behind PgBouncer and HAProxy as in deploy/
//   node scripts/several-instances.mjs PGlite Pgpool    on engines that speak its protocol: those whose names contain one of the words
// The engines are npm packages, installed once into .cache/; as root on Debian, Pgpool-II is installed with apt-get.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ensureInstalled, isListening } from '../service/chaos/support/program.mjs';
import { ENGINES } from './instances/engines.mjs';
import { BALANCED_SCENARIOS, DIRECT_SCENARIOS, FAULT_SCENARIOS } from './instances/fault-scenarios.mjs';
import { SCENARIOS } from './instances/scenarios.mjs';
import { openStage } from './instances/stage.mjs';

/** @typedef {Record<string, import('./instances/scenarios.mjs').Scenario>} Scenarios */

const ALONE = { ...SCENARIOS, ...FAULT_SCENARIOS, ...DIRECT_SCENARIOS };
const admin = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');
const words = process.argv.slice(2);
let broken = 0;

if (words.length > 0) await onEngines();
else if (await isListening(admin)) await asDeployed();
else skip(`everything, because no PostgreSQL listens at ${admin.host}`);
process.exitCode = broken > 0 ? 1 : 0;

async function onEngines() {
  for (const [name, start] of Object.entries(ENGINES).filter(([each]) => words.some((word) => each.includes(word)))) {
    console.log(name);
    await inFolder(async (folder) => {
      const engine = await start(folder);
      try {
        const { url, settings, survivesKills } = engine;
        await run(folder, url, { behind: false, settings }, survivesKills ? ALONE : SCENARIOS);
      } finally {
        await engine.stop();
      }
    });
  }
}

async function asDeployed() {
  await inFolder((folder) => run(folder, admin, { behind: false }, ALONE));
  const missing = ['pgbouncer', 'haproxy'].filter((name) => !ensureInstalled(name));
  if (missing.length > 0) skip(`behind HAProxy and PgBouncer, because ${missing.join(' and ')} cannot be found`);
  else {
    const scenarios = { ...SCENARIOS, ...FAULT_SCENARIOS, ...BALANCED_SCENARIOS };
    await inFolder((folder) => run(folder, admin, { behind: true }, scenarios));
  }
}

/** Where PostgreSQL is required, the programs around it are required, too. @param {string} what */
function skip(what) {
  console.log(`skipped: ${what}`);
  if (process.env['AMBIT_REQUIRE_POSTGRES'] === '1') broken += 1;
}

/** @param {(folder: string) => Promise<void>} work */
async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-instances-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Tries every guarantee, and prints which held.
 * @param {string} folder
 * @param {URL} database
 * @param {Parameters<typeof openStage>[2]} options
 * @param {Scenarios} scenarios
 */
async function run(folder, database, options, scenarios) {
  const start = performance.now();
  const stage = await openStage(database, folder, options);
  try {
    console.log(`${stage.title}, ready in ${Math.round(performance.now() - start)} ms`);
    for (const [guarantee, scenario] of Object.entries(scenarios)) await check(guarantee, () => scenario(stage));
    await check('no request got 500', async () => {
      const faults = stage.instances.flatMap((instance) => instance.faults);
      if (faults.length > 0) throw new Error(`${faults.length} were, the first: ${faults[0]?.slice(0, 500)}`);
      return 'the logs have none';
    });
  } finally {
    await stage.close();
  }
}

/** @param {string} guarantee @param {() => Promise<string>} scenario */
async function check(guarantee, scenario) {
  try {
    console.log(`  held    ${guarantee}: ${await scenario()}`);
  } catch (error) {
    broken += 1;
    console.log(`  BROKEN  ${guarantee}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
