/**
 * What the open page of the inspector costs in the browser: `node tools/inspector-page-cost.mjs [--rate 200] [--keep 5000] [--seconds 20]`,
 * after `npm run build`. The service handles `rate` requests per second, all of which are recorded, until `keep` are listed; then
 * Chromium says how much CPU time the page takes in each view. With `--minutes 10` it says what the tab has in memory instead, after each
 * minute and a garbage collection: with the lists of their usual length, and with failed and slow requests among the others.
 */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { parseArgs } from 'node:util';
import { inspectorMiddleware } from '@ambit/inspector/express';
import { createAppContainer, createLogger, readConfig } from '@ambit/service';
import express from 'express';
import { launchChromium } from '@ambit/host-contract/chromium';
import { createExpressApp } from '../service/dist/hosts/express/app.js';

// Without a token the inspector is for development only.
process.env['NODE_ENV'] = 'development';

const { values: options } = parseArgs({
  options: {
    rate: { type: 'string', default: '200' },
    keep: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '20' },
    views: { type: 'string', default: 'Requests' },
    minutes: { type: 'string', default: '0' },
  },
});
const [rate, keep, seconds] = [Number(options.rate), Number(options.keep), Number(options.seconds)];
const minutes = Number(options.minutes);
const BURST_MS = 50;
/** One of so many requests fails, and one is slow. */
const TROUBLE_EVERY = 50;
const SLOW_MS = 1100;
const scopes = {
  tags: ['request'],
  registers: ['IRequestSignal'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

const container = createAppContainer(readConfig({ DATA_DIR: ':memory:', LOG_LEVEL: 'silent' }));
await container.start();
const app = express();
app.use(inspectorMiddleware({ container, scopes, ...(minutes === 0 && { keep, samplesPerSecond: 1_000_000 }) }));
app.get('/slow/:id', (_, res) => void setTimeout(() => res.json({}), SLOW_MS));
app.get('/fails/:id', () => {
  throw new TypeError('made on purpose');
});
app.use(createExpressApp(container, { logger: createLogger('silent') }));
app.use(/** @type {express.ErrorRequestHandler} */ (_, __, res, ___) => void res.status(500).end());
// A connection that nobody used for some seconds stays open: the next request may be on its way.
const server = createServer({ keepAliveTimeout: 600_000 }, app).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}`;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${url}/inspector/#/requests`);
  await page.locator('[data-state=live]').waitFor();
  if (minutes > 0) await watchMemory(page);
  else {
    await ask(keep + rate);
    const rows = [];
    for (const view of options.views.split(',')) {
      await page.getByRole('link', { name: view }).click();
      rows.push({ view, ...(await measure(page)) });
    }
    console.table(rows);
  }
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
  const listed = await page.evaluate("document.querySelector('.numbers-line')?.textContent");
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

/**
 * Each minute somebody looks at every view, and goes back to the first.
 * @param {import('playwright-core').Page} page
 */
async function watchMemory(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  let asked = 0;
  for (let minute = 0; minute <= minutes; minute++) {
    if (minute > 0) {
      const loading = load(60, pathWithTrouble);
      for (const view of ['Requests', 'Graph', 'Totals', 'Now']) {
        await page.waitForTimeout(10_000);
        await page.getByRole('link', { name: view }).click();
        if (view === 'Requests') await page.locator('.request.trouble').first().click();
      }
      asked += await loading;
    }
    await page.getByRole('tab', { name: 'Now' }).click();
    await cdp.send('HeapProfiler.collectGarbage');
    const { metrics } = await cdp.send('Performance.getMetrics');
    const valueOf = (/** @type {string} */ name) => metrics.find((metric) => metric.name === name)?.value ?? 0;
    const heap = `${(valueOf('JSHeapUsedSize') / 1e6).toFixed(2)} MB`;
    const troubles = await page.locator('.troubles').innerText();
    const row = { minute, asked, heap, nodes: valueOf('Nodes'), listeners: valueOf('JSEventListeners'), troubles };
    console.log(JSON.stringify(row));
  }
}

/** Sends `rate` requests per second; returns how many. */
async function load(time = seconds, pathOf = pathOfReader) {
  const start = performance.now();
  const pending = [];
  let asked = 0;
  while (performance.now() - start < time * 1000) {
    const due = Math.floor(((performance.now() - start) / 1000) * rate);
    for (; asked < due; asked++) pending.push(get(pathOf(asked)));
    await new Promise((resolve) => setTimeout(resolve, BURST_MS));
  }
  await Promise.all(pending);
  return asked;
}

/** @param {number} times */
async function ask(times) {
  for (let i = 0; i < times; i += 50) await Promise.all(Array.from({ length: 50 }, (_, j) => get(pathOfReader(i + j))));
}

/**
 * Three of four read a user that is not there; one reads a page of users.
 * @param {number} i
 */
function pathOfReader(i) {
  return i % 4 === 0 ? '/api/users' : `/api/users/nobody-${i}`;
}

/** @param {number} i */
function pathWithTrouble(i) {
  if (i % TROUBLE_EVERY === 1) return `/fails/${i}`;
  return i % TROUBLE_EVERY === 2 ? `/slow/${i}` : pathOfReader(i);
}

/**
 * @param {string} path
 * @returns {Promise<void>}
 */
function get(path) {
  return new Promise((resolve, reject) => {
    request(url + path, { agent }, (response) => response.resume().on('end', () => resolve()))
      .on('error', reject)
      .end();
  });
}
