import axe, { type AxeResults } from 'axe-core';
import { chromiumUnwanted, launchChromium } from '@ambit/test-kit/chromium';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { PATHS } from '../src/api/document.js';
import { referencePage } from '../src/api/reference.js';
import { HOST_VARIANTS } from '../src/config/config.js';
import { App } from './support/app.js';

const SUMMARIES = Object.values(PATHS).flatMap((operations) =>
  Object.values(operations).map((operation) => (operation as { summary: string }).summary),
);

test.each(HOST_VARIANTS)('/docs on %s is one page, which loads nothing and cannot be framed', async (variant) => {
  await using app = await App.start(variant, { DATA_DIR: ':memory:' });
  const { status, headers, text } = await app.exchange('GET /docs HTTP/1.1\r\nhost: test\r\n\r\n');
  expect([status, text]).toEqual([200, referencePage().body]);
  expect(headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'referrer-policy': 'no-referrer' });
  expect(headers['content-security-policy']).toMatch(
    /^default-src 'none'; .*connect-src 'self'; .*frame-ancestors 'none'$/,
  );
  expect(text).not.toMatch(/https?:|(?:src|href)="\/\/|url\(|@import/);
});

describe.skipIf(chromiumUnwanted)('the API reference in Chromium', () => {
  // More than any one wait on a machine that is busy with other things.
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
  let browser: Browser;
  let app: App;
  beforeAll(async () => {
    browser = await launchChromium();
    app = await App.start('fastify', { DATA_DIR: ':memory:' });
  });
  afterAll(async () => {
    await app.stop();
    await browser.close();
  });

  /** When the test is finished, the browser, which reports violations of the policy, has complained about nothing. */
  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ ...options, bypassCSP: false });
    const complaints: string[] = [];
    context.on('console', (message) => void complaints.push(message.text()));
    context.on('weberror', (error) => void complaints.push(error.error().message));
    onTestFinished(async () => {
      await context.close();
      expect(complaints).toEqual([]);
    });
    const page = await context.newPage();
    await page.goto(`${app.url}/docs`);
    return page;
  }

  test('sends each operation as it is filled in, with its parameters, body and key', async () => {
    const page = await open();
    const send = async (summary: string, fields: Readonly<Record<string, string>> = {}) => {
      const form = page.getByRole('form', { name: `Try it: ${summary}` });
      for (const [name, value] of Object.entries(fields)) await form.locator(`[name="${name}"]`).fill(value);
      await form.locator('output').evaluate((output) => output.replaceChildren());
      await form.getByRole('button', { name: 'Send' }).click();
      await expect.poll(() => form.locator('output').innerText()).toMatch(/^\d/);
      const body = await form.getByLabel('Received body').innerText();
      return { line: await form.locator('output').innerText(), body: JSON.parse(body) as Record<string, unknown> };
    };
    const created = await send('Create a user', { 'Idempotency-Key': 'a-key' });
    expect(created.line).toMatch(/^201 Created, x-request-id: [\da-f-]{36}$/);
    const repeated = await send('Create a user');
    expect([repeated.line, repeated.body]).toEqual([
      expect.stringContaining('idempotency-replayed: true'),
      created.body,
    ]);
    expect((await send('Get a user', { id: String(created.body['id']) })).body).toEqual(created.body);
    expect((await send('List users', { limit: '1' })).body).toHaveLength(1);
    for (const summary of SUMMARIES) expect((await send(summary)).line).toMatch(/^20[01] /);
  });

  test.each(['light', 'dark'] as const)('has no findings of axe, at 1,440 and 390 px, in %s', async (colorScheme) => {
    const page = await open({ colorScheme });
    await page.evaluate(axe.source);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      const { violations } = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
      expect(violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
  });

  test('can be read without its script, and then has no button that does nothing', async () => {
    const page = await open({ javaScriptEnabled: false });
    await page.locator('#createOrder').getByText('the result is unknown').waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });
});
