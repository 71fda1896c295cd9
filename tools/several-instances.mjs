// Runs two instances of the service on one server, and prints what held:
//   node tools/several-instances.mjs [--database mariadb]    on PostgreSQL and on MariaDB: directly, and behind HAProxy, and PgBouncer
//                                                              in front of PostgreSQL, as in deploy/
//   node tools/several-instances.mjs PGlite Pgpool           on engines that speak the protocol of PostgreSQL: those whose names
//                                                              contain one of the words
// The engines are npm packages, installed once into .cache/; as root on Debian, Pgpool-II is installed with apt-get.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { ensureInstalled, isListening } from '../service/chaos/support/program.mjs';
import { reasonOf } from './instances/client.mjs';
import { serversNamed, skipped } from './instances/databases.mjs';
import { postgres } from './instances/databases/postgres.mjs';
import { ENGINES } from './instances/engines.mjs';
import { BALANCED_SCENARIOS, DIRECT_SCENARIOS, FAULT_SCENARIOS } from './instances/fault-scenarios.mjs';
import { SCENARIOS } from './instances/scenarios.mjs';
import { openStage } from './instances/stage.mjs';

/** @typedef {import('./instances/databases.mjs').Server} Server */
/** @typedef {Record<string, import('./instances/scenarios.mjs').Scenario>} Scenarios */

const ALONE = { ...SCENARIOS, ...FAULT_SCENARIOS, ...DIRECT_SCENARIOS };
const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { database: { type: 'string' } },
});
let broken = 0;

if (words.length > 0) await onEngines();
else for (const server of serversNamed(values.database)) await asDeployed(server);
process.exitCode = broken > 0 ? 1 : 0;

async function onEngines() {
  for (const [name, start] of Object.entries(ENGINES).filter(([each]) => words.some((word) => each.includes(word)))) {
    console.log(name);
    await inFolder(async (folder) => {
      const engine = await start(folder);
      try {
        const { url, settings, survivesKills } = engine;
        await run(folder, { ...postgres, name, url }, { behind: false, settings }, survivesKills ? ALONE : SCENARIOS);
      } finally {
        await engine.stop();
      }
    });
  }
}

/** @param {Server} server */
async function asDeployed(server) {
  if (!(await isListening(server.url))) {
    broken += skipped(server, 'everything', `none listens at ${server.url.host}`);
    return;
  }
  await inFolder((folder) => run(folder, server, { behind: false }, ALONE));
  const programs = ['haproxy', ...(server.pooler ? [server.pooler.name] : [])];
  const missing = programs.filter((name) => !ensureInstalled(name));
  if (missing.length > 0) {
    broken += skipped(server, `behind ${programs.join(' and ')}`, `${missing.join(' and ')} cannot be found`);
    return;
  }
  const scenarios = { ...SCENARIOS, ...FAULT_SCENARIOS, ...BALANCED_SCENARIOS, ...server.pooler?.scenarios };
  await inFolder((folder) => run(folder, server, { behind: true }, scenarios));
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
 * @param {Server} server
 * @param {Parameters<typeof openStage>[2]} options
 * @param {Scenarios} scenarios
 */
async function run(folder, server, options, scenarios) {
  const start = performance.now();
  const stage = await openStage(server, folder, options);
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
    console.log(`  BROKEN  ${guarantee}: ${reasonOf(error)}`);
  }
}
