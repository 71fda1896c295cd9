/**
 * Two instances of the service on one server, behind HAProxy, and PgBouncer in front of PostgreSQL, as in deploy/:
 * `[--database mariadb]`. Prints which guarantee held.
 */
import { readOptions } from '../kit/options.mjs';
import { need, stopwatch, temporaryFolder } from '../kit/program.mjs';
import { reasonOf } from './client.mjs';
import { BALANCED_SCENARIOS, POOLER_SCENARIOS } from './scenarios.mjs';
import { openStage } from './stage.mjs';

/** @typedef {Record<string, import('./scenarios.mjs').Scenario>} Scenarios */

for (const kind of readOptions({}).databases) {
  if (kind === 'sqlite') continue;
  need('haproxy');
  if (kind === 'postgres') need('pgbouncer');
  await run(kind, { ...BALANCED_SCENARIOS, ...(kind === 'postgres' ? POOLER_SCENARIOS : {}) });
}

/**
 * Tries every guarantee, and prints which held.
 * @param {'postgres' | 'mariadb'} kind
 * @param {Scenarios} scenarios
 */
async function run(kind, scenarios) {
  const since = stopwatch();
  const stage = await openStage(kind, temporaryFolder('instances'));
  try {
    console.log(`${stage.title}, ready in ${since()} s`);
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
    process.exitCode = 1;
    console.log(`  BROKEN  ${guarantee}: ${reasonOf(error)}`);
  }
}
