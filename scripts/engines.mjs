// Runs two instances of the service on engines that speak PostgreSQL's protocol, and prints what held on each:
//   node scripts/engines.mjs                 PostgreSQL 18, Pgpool-II in front of it, and PGlite
//   node scripts/engines.mjs PGlite          those whose name contains the word
// The engines are npm packages, installed once into .cache/; as root on Debian, Pgpool-II is installed with apt-get.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ENGINES } from './instances/engines.mjs';
import { FAULT_SCENARIOS, DIRECT_SCENARIOS } from './instances/fault-scenarios.mjs';
import { tryAll } from './instances/held.mjs';
import { SCENARIOS } from './instances/scenarios.mjs';
import { openStage } from './instances/stage.mjs';

const [word = ''] = process.argv.slice(2);
let broken = 0;
for (const [name, start] of Object.entries(ENGINES).filter(([each]) => each.includes(word))) {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-engine-'));
  console.log(name);
  const engine = await start(folder);
  try {
    const stage = await openStage(engine.url, folder, { behind: false, settings: engine.settings });
    const scenarios = { ...SCENARIOS, ...(engine.survivesKills ? { ...FAULT_SCENARIOS, ...DIRECT_SCENARIOS } : {}) };
    try {
      broken += await tryAll(stage, scenarios);
    } finally {
      await stage.close();
    }
  } finally {
    await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exitCode = broken > 0 ? 1 : 0;
