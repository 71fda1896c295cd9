// Runs two instances of the service on one PostgreSQL, directly and as in deploy/: prints what held, fails otherwise.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ensureInstalled, isListening } from './instances/program.mjs';
import { tryAll } from './instances/held.mjs';
import { openStage } from './instances/stage.mjs';
import { SCENARIOS } from './instances/scenarios.mjs';
import { BALANCED_SCENARIOS, DIRECT_SCENARIOS, FAULT_SCENARIOS } from './instances/fault-scenarios.mjs';

const admin = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');
let broken = 0;

if (await isListening(admin)) await runAll();
else skip(`everything, because no PostgreSQL listens at ${admin.host}`);
process.exitCode = broken > 0 ? 1 : 0;

async function runAll() {
  await run(false, { ...SCENARIOS, ...FAULT_SCENARIOS, ...DIRECT_SCENARIOS });
  const missing = ['pgbouncer', 'haproxy'].filter((name) => !ensureInstalled(name));
  if (missing.length > 0) skip(`behind HAProxy and PgBouncer, because ${missing.join(' and ')} cannot be found`);
  else await run(true, { ...SCENARIOS, ...FAULT_SCENARIOS, ...BALANCED_SCENARIOS });
}

/** Where PostgreSQL is required, the programs around it are required, too. @param {string} what */
function skip(what) {
  console.log(`skipped: ${what}`);
  if (process.env['AMBIT_REQUIRE_POSTGRES'] === '1') broken += 1;
}

/**
 * @param {boolean} behind
 * @param {Record<string, import('./instances/scenarios.mjs').Scenario>} scenarios
 */
async function run(behind, scenarios) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-instances-'));
  const start = performance.now();
  const stage = await openStage(admin, folder, { behind });
  try {
    console.log(`${stage.title}, ready in ${Math.round(performance.now() - start)} ms`);
    broken += await tryAll(stage, scenarios);
  } finally {
    await stage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
