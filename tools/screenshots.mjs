// Makes docs/inspector-*.png: the service with the inspector in front of it, some traffic, and what Chromium shows of it.
//   npm run build && node tools/screenshots.mjs
// It needs Debian's pngquant, which leaves a third of each file.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { containerMiddleware } from '@ambit/express';
import { inspectorMiddleware } from '@ambit/inspector/express';
import { createAppContainer, createLogger, readConfig } from '@ambit/service';
import express from 'express';
import { launchChromium } from '@ambit/test-kit/chromium';
import { createExpressApp } from '../service/dist/hosts/express.js';

// Without a token the inspector is for development only.
process.env['NODE_ENV'] = 'development';

const VIEW = { width: 1360, height: 800 };
const LARGEST = 80_000;
const SCOPES = {
  tags: ['request'],
  registers: ['IRequestSignal'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

const container = createAppContainer(readConfig({ DATA_DIR: ':memory:', LOG_LEVEL: 'silent' }));
await container.start();
await container.resolve('IDatabasePool').query("INSERT INTO stock (product_id, level) VALUES ('sold-out', 0)");

const service = createExpressApp(container, { logger: createLogger('silent') });
const app = express();
app.use(inspectorMiddleware({ container, scopes: SCOPES, limitMs: 500 }));
// What the service does not do: a client that does not wait, and a scope that is forgotten.
app.get('/api/reports/:id', containerMiddleware(container), (req, res) => {
  req.container.resolve('IUserRepository');
  if (req.params['id'] === 'slow') return;
  req.container.resolve('IAuditLogger');
  container.createScope({ tags: ['report'] });
  res.json({ ready: true });
});
app.use(service);
const server = createServer(app).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const url = `http://127.0.0.1:${port}`;

const browser = await launchChromium();
try {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const page = await browser.newPage({ viewport: VIEW, colorScheme });
    await page.goto(`${url}/inspector/#/graph`);
    await page.locator('[data-state=live]').waitFor();
    await traffic();
    if (colorScheme === 'light') await graph(page, 'docs/inspector-graph-light.png');
    await requests(page, `docs/inspector-requests-${colorScheme}.png`);
    await page.close();
  }
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
  await container.dispose();
}

/** @param {import('playwright-core').Page} page @param {string} file */
async function graph(page, file) {
  await post('/api/orders', { items: [{ productId: 'apple', quantity: 3 }] });
  await page.locator('.service', { hasText: 'IAuditLogger' }).first().click();
  await page.locator('.explanation', { hasText: 'IAuditLogger' }).waitFor();
  await shoot(page, file);
}

/** @param {import('playwright-core').Page} page @param {string} file */
async function requests(page, file) {
  await page.getByRole('link', { name: 'Requests' }).click();
  await page.locator('.request', { hasText: 'leak' }).first().waitFor();
  await page.locator('.request', { hasText: '/api/orders' }).filter({ hasText: 'committed' }).first().click();
  await page.locator('.row[data-kind=commit]').waitFor();
  await shoot(page, file);
}

/** @param {import('playwright-core').Page} page @param {string} file */
async function shoot(page, file) {
  await page.screenshot({ path: file });
  execFileSync('pngquant', ['--strip', '--ext', '.png', '--force', file]);
  const { size } = statSync(file);
  if (size > LARGEST) throw new Error(`${file} has ${size} bytes, more than ${LARGEST}`);
  console.log(file, size);
}

/** Some requests of every kind. */
async function traffic() {
  await fetch(`${url}/api/reports/42`);
  for (const name of ['Ada', 'Grace', 'Katherine']) {
    const created = await post('/api/users', { name, email: `${name.toLowerCase()}@example.org` });
    const user = /** @type {{ id: string }} */ (await created.json());
    await fetch(`${url}/api/users/${user.id}`);
    await post('/api/orders', { items: [{ productId: 'apple', quantity: 1 }] });
    await fetch(`${url}/api/users`);
  }
  await fetch(`${url}/api/users/nobody`);
  await post('/api/orders', { items: [{ productId: 'sold-out', quantity: 1 }] });
  await post('/api/orders', { items: [] });
  const aborted = get(`${url}/api/reports/slow`);
  aborted.on('error', () => undefined);
  setTimeout(() => aborted.destroy(), 80);
  await new Promise((resolve) => aborted.on('close', resolve));
  await fetch(`${url}/api/users?limit=2`);
}

/** @param {string} path @param {object} body */
function post(path, body) {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
