import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { chromiumUnwanted, launchChromium } from '@ambit/test-kit/chromium';
import { API_ENDPOINTS } from '../src/api/document.js';
import { App } from './support/app.js';

/** For a machine that is busy with other things: more than any one wait of a test. */
const TIMEOUT_MS = 120_000;

/** A page. When the test is finished, nothing may have been requested elsewhere, nor complained about. */
async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ ...options, bypassCSP: false });
  const [elsewhere, complaints]: [string[], string[]] = [[], []];
  await context.route('**/*', (route) => {
    if (new URL(route.request().url()).origin === url) return route.continue();
    elsewhere.push(route.request().url());
    return route.abort();
  });
  // Chromium reports violations of the policy there, too.
  context.on('console', (message) => void complaints.push(message.text()));
  context.on('weberror', (error) => void complaints.push(error.error().message));
  onTestFinished(async () => {
    await context.close();
    expect([elsewhere, complaints]).toEqual([[], []]);
  });
  const page = await context.newPage();
  await page.goto(`${url}/docs`);
  return page;
}

// Both hosts send the same bytes: docs-page.test.ts.
describe.skipIf(chromiumUnwanted)('the API reference in Chromium', { timeout: TIMEOUT_MS }, () => {
  let browser: Browser;
  let app: App;
  beforeAll(async () => {
    browser = await launchChromium();
    app = await App.start('fastify', { DATA_DIR: ':memory:' });
  }, TIMEOUT_MS);
  afterAll(async () => {
    await app.stop();
    await browser.close();
  });

  test('sends each operation as it is filled in, with its parameters, body and key', async () => {
    const page = await open(browser, app.url);
    const send = async (summary: string, fields: Record<string, string> = {}) => {
      const form = page.getByRole('form', { name: `Try it: ${summary}` });
      for (const [name, value] of Object.entries(fields)) await form.locator(`[name="${name}"]`).fill(value);
      await form.locator('output').evaluate((output) => output.replaceChildren());
      await form.getByRole('button', { name: 'Send' }).click();
      await expect.poll(() => form.locator('output').innerText()).toMatch(/^\d/);
      const body = await form.getByLabel('Received body').innerText();
      return { line: await form.locator('output').innerText(), body: JSON.parse(body) as Record<string, unknown> };
    };
    const key = { 'Idempotency-Key': 'a-key' };
    const created = await send('Create a user', key);
    expect(created).toMatchObject({ line: expect.stringMatching(/^201 Created, x-request-id: [\da-f-]{36}$/) });
    expect(await send('Create a user')).toMatchObject({
      line: expect.stringContaining('idempotency-replayed: true'),
      body: created.body,
    });
    expect(await send('Get a user', { id: String(created.body['id']) })).toMatchObject({ body: created.body });
    expect((await send('List users', { limit: '1' })).body).toHaveLength(1);
    for (const { summary } of API_ENDPOINTS) expect((await send(summary)).line).toMatch(/^20[01] /);
  });

  test.each(['light', 'dark'] as const)('has no findings of axe, at 1,440 and 390 px, in %s', async (colorScheme) => {
    const page = await open(browser, app.url, { colorScheme });
    await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
    await page.evaluate(axe.source);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const { violations } = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
      expect(violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
  });

  test('can be read without its script, and then has no button that does nothing', async () => {
    const page = await open(browser, app.url, { javaScriptEnabled: false });
    await page.locator('#createOrder summary').last().click();
    await page.locator('#createOrder').getByText('It is not known whether').waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });
});
