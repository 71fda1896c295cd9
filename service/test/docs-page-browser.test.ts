import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { HOST_VARIANTS } from '../src/config/config.js';
import { App } from './support/app.js';
import { chromiumUnwanted, launchChromium } from './support/openapi-chromium.js';
import { operations } from './support/openapi-document.js';

/** For a machine that is busy with other things: more than any one wait of a test. */
const TIMEOUT_MS = 120_000;

/** Of all rules of axe, only these can tell dark from light. */
const COLORS = ['color-contrast', 'link-in-text-block'];

describe.skipIf(chromiumUnwanted).each(HOST_VARIANTS)(
  'the API reference in Chromium, on %s',
  (variant) => {
    let browser: Browser;
    let app: App;
    beforeAll(async () => {
      [browser, app] = await Promise.all([launchChromium(), App.start(variant, { DATA_DIR: ':memory:' })]);
    }, TIMEOUT_MS);
    afterAll(() => Promise.all([browser.close(), app.stop()]));

    /** Opens the page. When the test is finished, nothing may have been requested elsewhere, nor complained about. */
    async function open(options: BrowserContextOptions = {}): Promise<Page> {
      const page = await browser.newPage({ ...options, bypassCSP: false });
      const [elsewhere, complaints]: [string[], string[]] = [[], []];
      await page.route('**/*', (route) => {
        if (new URL(route.request().url()).origin === app.url) return route.continue();
        elsewhere.push(route.request().url());
        return route.abort();
      });
      // Chromium reports violations of the policy there, too, and each response that is an error, which a test may want.
      page.on('console', (message) => {
        if (!message.text().startsWith('Failed to load resource: the server responded'))
          complaints.push(message.text());
      });
      page.on('pageerror', (error) => void complaints.push(error.message));
      onTestFinished(async () => {
        await page.close();
        expect([elsewhere, complaints]).toEqual([[], []]);
      });
      await page.goto(`${app.url}/docs`);
      return page;
    }

    const formOf = (page: Page, operationId: string): Locator => page.locator(`form[data-operation="${operationId}"]`);

    async function send(page: Page, operationId: string): Promise<{ status: string; received: string }> {
      const form = formOf(page, operationId);
      // What an earlier request left there must not be taken for this one's.
      await form.getByRole('status').evaluate('(element) => element.replaceChildren()');
      await form.getByRole('button', { name: 'Send' }).click();
      const [status, received] = [form.getByRole('status'), form.getByLabel('Response')];
      let text = '';
      // Read once: a request that it takes an id from comes before, and has a result of its own.
      await expect.poll(async () => (text = await status.innerText())).toMatch(/ \d+ ms/);
      return { status: text, received: await received.innerText() };
    }

    test('shows every operation once, and the contents lead to it', async () => {
      const page = await open();
      const ids = await page.locator('main section').evaluateAll((all) => all.map((section) => section.id));
      expect(ids).toEqual(operations.map(({ operationId }) => operationId));
      await page.getByRole('link', { name: 'Place an order' }).first().click();
      await expect.poll(() => new URL(page.url()).hash).toBe('#createOrder');
    });

    test('places an order and shows the response', async () => {
      const page = await open();
      await formOf(page, 'createOrder').getByLabel('Example').selectOption({ label: 'One product' });
      const { status, received } = await send(page, 'createOrder');
      expect(status).toMatch(/^201 Created, \d+ ms$/);
      expect(received).toMatch(/^x-request-id: [\da-f-]{36}$/m);
      const order = JSON.parse(received.slice(received.indexOf('{'))) as object;
      expect(order).toMatchObject({ items: [{ productId: 'apple', quantity: 1 }] });
    });

    test('sends each operation as it is filled in, and gets no error', async () => {
      const page = await open();
      // A user, so that there is one to get.
      for (const operationId of ['createUser', ...operations.map((operation) => operation.operationId)])
        expect((await send(page, operationId)).status).toMatch(/^20[01] /);
    });

    test('gets a user with the id that the service has made, and says so if there is none', async () => {
      const page = await open();
      const form = formOf(page, 'getUser');
      await page.route('**/api/users?*', (route) => route.fulfill({ json: [] }), { times: 1 });
      await form.getByRole('button').click();
      await form.getByText('There is none yet: create one first').waitFor();
      const { received } = await send(page, 'createUser');
      const { id } = JSON.parse(received.slice(received.indexOf('{'))) as { id: string };
      expect(await form.getByLabel('id', { exact: true }).inputValue()).toBe(id);
      expect((await send(page, 'getUser')).received).toContain(id);
      await form.getByLabel('id', { exact: true }).fill('');
      expect((await send(page, 'getUser')).status).toMatch(/^200 OK/);
    });

    test('shows an error of the service, and sends credentials and an idempotency key', async () => {
      const page = await open();
      app.identify = ({ headers }) => headers.authorization;
      onTestFinished(() => {
        app.identify = () => undefined;
      });
      await page.getByLabel('Authorization').fill('Grace');
      await formOf(page, 'createUser').getByLabel('Idempotency-Key').fill('a-key');
      expect((await send(page, 'createUser')).status).toMatch(/^201 /);
      expect((await send(page, 'createUser')).received).toContain('idempotency-replayed: true');
      await app.log.finds({ msg: 'request', path: '/api/users', userId: 'Grace' });
      await formOf(page, 'createUser').getByLabel('Body').fill('{');
      expect(await send(page, 'createUser')).toMatchObject({
        status: expect.stringMatching(/^400 Bad Request/),
        received: expect.stringContaining('"error": "The body is not valid JSON"'),
      });
    });

    test('can be used with the keyboard alone', async () => {
      const page = await open();
      const form = formOf(page, 'isLive');
      await page.locator('#isLive summary').first().focus();
      await page.keyboard.press('Enter');
      await page.locator('#isLive pre').first().waitFor();
      await form.getByRole('button').focus();
      await page.keyboard.press('Enter');
      await expect(form.getByText('"status": "live"').waitFor()).resolves.toBeUndefined();
    });

    // The other host sends the same bytes: docs-page.test.ts.
    test.runIf(variant === HOST_VARIANTS[0]).each(['light', 'dark'] as const)(
      'has no findings of axe, at 1,280 and 390 px, when the system is %s',
      async (colorScheme) => {
        const page = await open({ colorScheme });
        await send(page, 'createOrder');
        await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
        await page.evaluate(axe.source);
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 900 });
          await expect.poll(() => page.evaluate('innerWidth')).toBe(width);
          const { violations } = await page.evaluate<AxeResults>(
            `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...(colorScheme === 'dark' && { runOnly: COLORS }) })})`,
          );
          expect(violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])).toEqual([]);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
          const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
          expect(background).toBe(colorScheme === 'dark' ? 'rgb(14, 17, 22)' : 'rgb(245, 246, 248)');
        }
      },
    );
  },
  TIMEOUT_MS,
);
