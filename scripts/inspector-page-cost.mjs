/**
 * What the open page of the inspector costs in the browser: `node scripts/inspector-page-cost.mjs [--rate 200] [--keep 5000] [--seconds 20]`,
 * after `npm run build`. The service handles `rate` requests per second, all of which are recorded, until `keep` are listed; then
 * Chromium says how much CPU time the page takes in each view.
 */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { parseArgs } from 'node:util';
import { inspectorMiddleware } from '@ambit/inspector/express';
import { createAppContainer, createLogger, readConfig } from '@ambit/service';
import express from 'express';
import { chromium } from 'playwright-core';
import { createExpressApp } from '../service/dist/hosts/express/app.js';

const { values: options } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    keep: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '20' },
    views: { type: 'string', default: 'Requests' },
  },
});
const [rate, keep, seconds] = [Number(options.rate), Number(options.keep), Number(options.seconds)];
const BURST_MS = 50;
const scopes = {
  tags: ['request'],
  registers: ['IRequestSignal'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

const container = createAppContainer(readConfig({ DATA_DIR: ':memory:', LOG_LEVEL: 'silent' }));
await container.start();
const app = express();
app.use(inspectorMiddleware({ container, scopes, keep, samplesPerSecond: 1_000_000 }));
app.use(createExpressApp(container, { logger: createLogger('silent') }));
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}`;
const agent = new Agent({ keepAlive: true, maxSockets: 8 });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--disable-quic'] });
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${url}/inspector/#/requests`);
  await page.locator('[data-state=live]').waitFor();
  await ask(keep + rate);
  const rows = [];
  for (const view of options.views.split(',')) {
    await page.getByRole('tab', { name: view }).click();
    rows.push({ view, ...(await measure(page)) });
  }
  console.table(rows);
} finally {
  await browser.close();
  agent.destroy();
  server.closeAllConnections();
  server.close();
  await container.dispose();
}

/**
 * While requests come in; the shares are those of one core.
 * @param {import('playwright-core').Page} page
 */
async function measure(page) {
  const cdp = await page.context().newCDPSession(page);
  const system = await browser.newBrowserCDPSession();
  await cdp.send('Performance.enable');
  const metrics = async () => {
    const { metrics: all } = await cdp.send('Performance.getMetrics');
    const { processInfo } = await system.send('SystemInfo.getProcessInfo');
    const renderers = processInfo.filter(({ type }) => type === 'renderer');
    const cpu = Math.max(...renderers.map(({ cpuTime }) => cpuTime));
    return new Map([['cpu', cpu], ...all.map(({ name, value }) => /** @type {const} */ ([name, value]))]);
  };
  const before = await metrics();
  const asked = await load();
  const after = await metrics();
  const grown = (/** @type {string} */ name) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const took = grown('Timestamp');
  const percent = (/** @type {string} */ name) => `${((grown(name) / took) * 100).toFixed(1)} %`;
  const listed = await page.evaluate("document.querySelector('.tools .hint')?.textContent");
  const rows = await page.locator('.request').count();
  const heap = `${((after.get('JSHeapUsedSize') ?? 0) / 1e6).toFixed(1)} MB`;
  const [mainThread, tabProcess] = [percent('TaskDuration'), percent('cpu')];
  return {
    'requests/s': (asked / took).toFixed(0),
    listed,
    rows,
    'main thread': mainThread,
    process: tabProcess,
    heap,
  };
}

/** Sends `rate` requests per second; returns how many. */
async function load() {
  const start = performance.now();
  const pending = [];
  let asked = 0;
  while (performance.now() - start < seconds * 1000) {
    const due = Math.floor(((performance.now() - start) / 1000) * rate);
    for (; asked < due; asked++) pending.push(get(asked));
    await new Promise((resolve) => setTimeout(resolve, BURST_MS));
  }
  await Promise.all(pending);
  return asked;
}

/** @param {number} times */
async function ask(times) {
  for (let i = 0; i < times; i += 50) await Promise.all(Array.from({ length: 50 }, (_, j) => get(i + j)));
}

/**
 * Three of four read a user that is not there; one reads a page of users.
 * @param {number} i
 * @returns {Promise<void>}
 */
function get(i) {
  return new Promise((resolve, reject) => {
    const path = i % 4 === 0 ? '/api/users' : `/api/users/nobody-${i}`;
    request(url + path, { agent }, (response) => response.resume().on('end', () => resolve()))
      .on('error', reject)
      .end();
  });
}
