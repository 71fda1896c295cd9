import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REFERENCE_PATHS } from '../src/api/reference-paths.js';
import { HOST_VARIANTS } from '../src/config/config.js';
import { App } from './support/app.js';
import { chromiumUnwanted, launchChromium } from './support/openapi-chromium.js';
import { operations } from './support/openapi-document.js';

const IN_MEMORY = { DATA_DIR: ':memory:' };
/** A browser starts slowly on a busy machine. */
const TIMEOUT_MS = 90_000;
const EVERY_TIME = ['connection', 'keep-alive', 'date', 'x-request-id'];

let apps: App[] = [];
beforeAll(async () => {
  apps = await Promise.all(HOST_VARIANTS.map((variant) => App.start(variant, IN_MEMORY)));
});
afterAll(() => Promise.all(apps.map((app) => app.stop())));

/** The response of both hosts, which must be the same. */
async function get(path: string, init: RequestInit = {}) {
  const [one, other] = await Promise.all(
    apps.map(async ({ url }) => {
      const response = await fetch(`${url}${path}`, init);
      const headers = [...response.headers].filter(([name]) => !EVERY_TIME.includes(name));
      return { status: response.status, headers: Object.fromEntries(headers), text: await response.text() };
    }),
  );
  expect(one).toEqual(other);
  return one ?? expect.fail('There is no host');
}

describe.each(REFERENCE_PATHS)('%s', (path) => {
  test('is the same on both hosts, and loads nothing from other origins', async () => {
    const { status, headers, text } = await get(path);
    expect(status).toBe(200);
    expect(text).not.toBe('');
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
    expect(headers['content-security-policy']).not.toMatch(/unsafe|http|\*/);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  });

  test('is not sent to a client that has it already, nor to HEAD', async () => {
    const { headers } = await get(path);
    expect(headers).toMatchObject({ 'cache-control': 'no-cache', etag: expect.stringMatching(/^".{43}"$/) });
    const again = await get(path, { headers: { 'if-none-match': `"other", W/${headers['etag']}` } });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(await get(path, { headers: { 'if-none-match': '"other"' } })).toMatchObject({ status: 200 });
    expect(await get(path, { method: 'HEAD' })).toEqual({ status: 200, headers, text: '' });
  });

  test('has an id and a line in the log, like every request', async () => {
    for (const { url, log } of apps) {
      const requestId = (await fetch(`${url}${path}`)).headers.get('x-request-id');
      expect(await log.finds({ msg: 'request', requestId })).toMatchObject({ method: 'GET', path, status: 200 });
    }
  });

  test('supports only GET and HEAD', async () => {
    expect(await get(path, { method: 'POST' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
      text: '{"error":"This address answers GET, HEAD only"}',
    });
  });
});

test.each(['/docs', '/docs/start.js', '/docs/swagger-ui.css'])('%s contains no external URL', async (path) => {
  // XML namespaces look like URLs, but are never requested.
  const text = (await get(path)).text.replaceAll('http://www.w3.org/2000/svg', '');
  expect(text).not.toMatch(/https?:|(?:src|href)="\/\/|url\((?!"?data:)|@import/);
});

test('no other file is served', async () => {
  for (const path of [
    '/docs/index.html',
    '/docs/..',
    '/docs/%2e%2e/package.json',
    '/docs/swagger-ui.css/',
    '/openapi.json/',
  ])
    expect((await get(path)).status).toBe(404);
});

describe.skipIf(chromiumUnwanted)('in Chromium, on', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  const operation = (page: Page, operationId: string): Locator => page.locator(`.opblock[id$="-${operationId}"]`);

  async function tryOut(page: Page, operationId: string): Promise<string> {
    const block = operation(page, operationId);
    await block.locator('.opblock-summary-control').click();
    await block.getByRole('button', { name: 'Try it out' }).click();
    await block.getByRole('button', { name: 'Execute' }).click();
    return block.locator('.live-responses-table .response .response-col_status').innerText();
  }

  test.each(HOST_VARIANTS)(
    '%s, the page shows every operation, sends requests, and contacts no other host',
    async (variant) => {
      const url = apps[HOST_VARIANTS.indexOf(variant)]?.url ?? '';
      const page = await browser.newPage();
      const [elsewhere, complaints]: [string[], string[]] = [[], []];
      page.on('request', (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol !== 'data:' && origin !== url) elsewhere.push(request.url());
      });
      // Chromium reports violations of the policy there, too.
      page.on('console', (message) => void complaints.push(message.text()));
      page.on('pageerror', (error) => void complaints.push(error.message));

      await page.goto(`${url}/docs`);
      for (const { operationId } of operations) await operation(page, operationId).waitFor();
      expect(await page.locator('.opblock').count()).toBe(operations.length);
      expect(await tryOut(page, 'listUsers')).toBe('200');
      expect(await tryOut(page, 'createUser')).toBe('201');
      expect(await tryOut(page, 'createOrder')).toBe('201');

      expect(elsewhere).toEqual([]);
      expect(complaints).toEqual([]);
      await page.close();
    },
    TIMEOUT_MS,
  );
});
