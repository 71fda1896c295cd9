// The same tests, isolated from each other in three ways: node run.mjs
//   --browser         with pages in Chromium, by Playwright's runner; otherwise with plain requests
//   --tests 48        how many
//   --workers 8       of those in sandboxes; the others share one set of tables, so they run one after another
//   --only sandbox,truncate    and not "new database", which is slow
// Fails where a test sees another one's users, or where those in sandboxes leave a row.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from '@playwright/test';
import { startService, TABLES, withClient } from './server.mjs';

const { values } = parseArgs({
  options: {
    browser: { type: 'boolean', default: false },
    tests: { type: 'string', default: '48' },
    workers: { type: 'string', default: '8' },
    only: { type: 'string' },
  },
});
const tests = Number(values.tests);
const ways = (values.only ?? 'sandbox,truncate,new database').split(',');

const browser = values.browser
  ? await chromium.launchServer({
      executablePath: '/usr/bin/chromium-headless-shell',
      args: ['--no-sandbox', '--disable-quic'],
    })
  : undefined;
/** @type {Map<string, number>} */
const seconds = new Map();
for (const isolation of ways) {
  const workers = isolation === 'sandbox' ? Number(values.workers) : 1;
  const { url, database, stop } = await startService(workers + 2);
  Object.assign(process.env, {
    SERVICE_URL: url,
    SERVICE_DATABASE: database,
    ISOLATION: isolation,
    TESTS: values.tests,
  });
  const start = performance.now();
  if (browser) await runPlaywright(browser.wsEndpoint(), workers);
  else await (await import('./requests.mjs')).runWithRequests({ isolation, tests, workers });
  seconds.set(isolation, (performance.now() - start) / 1000);
  if (isolation === 'sandbox') assert.deepEqual(await leftovers(database), []);
  await stop();
}

await browser?.close();

const best = seconds.get('sandbox');
const lines = [`${tests} tests ${browser ? 'in Chromium' : 'with plain requests'}`];
for (const [isolation, took] of seconds) {
  const factor = best === undefined ? '' : `, ${(took / best).toFixed(1)} x the time in sandboxes`;
  const perTest = ((took * 1000) / tests).toFixed(0);
  lines.push(`${isolation.padEnd(12)} ${took.toFixed(1).padStart(6)} s, ${perTest} ms a test${factor}`);
}
process.stdout.write(`${lines.join('\n')}\n`);

/**
 * @param {string} BROWSER
 * @param {number} workers
 */
async function runPlaywright(BROWSER, workers) {
  const cli = fileURLToPath(import.meta.resolve('@playwright/test/cli'));
  const cwd = fileURLToPath(new URL('.', import.meta.url));
  const env = { ...process.env, BROWSER };
  const runner = spawn(process.execPath, [cli, 'test', `--workers=${workers}`], { cwd, env, stdio: 'inherit' });
  const [status] = await once(runner, 'close');
  assert.equal(status, 0, 'Playwright reports failed tests');
}

/** @param {string} database */
async function leftovers(database) {
  const sql = TABLES.map((name) => `SELECT '${name}' AS name FROM ${name}`).join(' UNION ALL ');
  return withClient(database, async (client) => (await client.query(sql)).rows);
}
