import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig, type Service, startService } from '../src/index.js';
import { App } from './support/app.js';
import { chromiumUnwanted, launchChromium } from '@ambit/host-contract/chromium';
import { operations } from './support/openapi-document.js';

/** For a machine that is busy with other things: more than any one wait of a test. */
const TIMEOUT_MS = 120_000;

/** Of all rules of axe, only these can tell dark from light. */
const COLORS = ['color-contrast', 'link-in-text-block'];
const DESKTOP = { width: 1440, height: 900 };

/** Not in the same turn: the service runs in this process. */
const run = async (program: string, ...args: string[]): Promise<string> =>
  (await promisify(execFile)(program, args, { encoding: 'utf8', timeout: 20_000 })).stdout;

interface Received {
  readonly status: string;
  readonly headers: string;
  readonly body: string;
}

const formOf = (page: Page, operationId: string): Locator => page.locator(`form[data-operation="${operationId}"]`);
const bodyOf = ({ body }: Received): Readonly<Record<string, unknown>> => JSON.parse(body) as Record<string, unknown>;
const themeOf = (page: Page): Promise<unknown> => page.evaluate('document.documentElement.dataset.theme');
const sampleOf = async (page: Page, operationId: string, language: string): Promise<string> =>
  (await page.locator(`#${operationId}-${language} pre`).textContent()) ?? '';

async function press(page: Page, operationId: string, name = 'Send'): Promise<Received> {
  const form = formOf(page, operationId);
  // What an earlier request left there must not be taken for this one's.
  await page.evaluate(`document.querySelector('#${operationId} .result').replaceChildren()`);
  await form.getByRole('button', { name, exact: true }).click();
  let status = '';
  // Read once: a request that it takes an id from comes before, and has a result of its own.
  await expect.poll(async () => (status = await form.getByRole('status').innerText())).toMatch(/ \d+ ms/);
  const headers = form.locator('.headers');
  return {
    status,
    headers: (await headers.isVisible()) ? (await headers.innerText()).replaceAll(/\n+/g, '\n') : '',
    body: await form.getByLabel('Received body').innerText(),
  };
}

/** A page. When the test is finished, nothing may have been requested elsewhere, nor complained about. */
async function open(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: DESKTOP, ...options, bypassCSP: false });
  const [elsewhere, complaints]: [string[], string[]] = [[], []];
  await context.route('**/*', (route) => {
    if (new URL(route.request().url()).origin === url) return route.continue();
    elsewhere.push(route.request().url());
    return route.abort();
  });
  // Chromium reports violations of the policy there, too, and each response that is an error, which a test may want.
  context.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource: the server responded')) complaints.push(message.text());
  });
  context.on('weberror', (error) => void complaints.push(error.error().message));
  onTestFinished(async () => {
    await context.close();
    expect([elsewhere, complaints]).toEqual([[], []]);
  });
  const page = await context.newPage();
  await page.goto(`${url}/docs`);
  return page;
}

let browser: Browser;
beforeAll(async () => {
  if (!chromiumUnwanted) browser = await launchChromium();
}, TIMEOUT_MS);
afterAll(() => browser?.close());

// Both hosts send the same bytes: docs-page.test.ts.
describe.skipIf(chromiumUnwanted)(
  'the API reference in Chromium',
  () => {
    let app: App;
    beforeAll(async () => {
      app = await App.start('fastify', { DATA_DIR: ':memory:' });
    }, TIMEOUT_MS);
    afterAll(() => app.stop());

    test('begins with a request that can be sent, and shows its response beside it', async () => {
      const page = await open(browser, app.url);
      const send = page.getByRole('button', { name: 'Send' }).first();
      expect((await send.boundingBox())?.y).toBeLessThan(400);
      const { status, headers, body } = await press(page, 'createUser');
      expect(status).toMatch(/^201 Created, \d+ ms$/);
      expect(headers).toMatch(/^x-request-id\n[\da-f-]{36}$/);
      expect(body).toMatch(/^\{\n {2}"id": "[\da-f-]{36}",\n {2}"name": "Ada Lovelace",\n/);
      const [ask, reply] = await Promise.all(
        ['.ask', '.reply'].map((part) => formOf(page, 'createUser').locator(part).boundingBox()),
      );
      expect(reply?.x).toBeGreaterThanOrEqual((ask?.x ?? 0) + (ask?.width ?? Infinity));
    });

    test('places an order with a key of its own, replays it, and takes a new key for the next one', async () => {
      const page = await open(browser, app.url);
      const key = formOf(page, 'createOrder').getByLabel('Idempotency-Key');
      await formOf(page, 'createOrder').getByLabel('Example').selectOption({ label: 'One product' });
      const keys = [await key.inputValue()];
      const first = await press(page, 'createOrder');
      expect(bodyOf(first)).toMatchObject({ items: [{ productId: 'apple', quantity: 1 }] });
      expect(first.headers).not.toContain('idempotency-replayed');

      const again = await press(page, 'createOrder', 'Replay');
      expect(again).toMatchObject({ body: first.body, headers: expect.stringContaining('idempotency-replayed\ntrue') });
      expect(await key.inputValue()).toBe(keys[0]);

      const next = await press(page, 'createOrder');
      keys.push(await key.inputValue());
      expect(bodyOf(next)['id']).not.toBe(bodyOf(first)['id']);
      await formOf(page, 'createOrder').getByRole('button', { name: 'New key' }).click();
      keys.push(await key.inputValue());
      expect(new Set(keys).size).toBe(3);
      for (const made of keys) expect(made).toMatch(/^[\da-f]{32}$/);
    });

    test('has samples for curl and fetch that send what is filled in', async () => {
      const page = await open(browser, app.url);
      const form = formOf(page, 'createUser');
      const user = { name: "Miles O'Brien \\ $HOME", email: 'miles@example.org' };
      await form.locator('textarea').fill(JSON.stringify(user, undefined, 2));
      await form.getByLabel('Idempotency-Key').fill(`it's-a-key`);
      const curl = await sampleOf(page, 'createUser', 'curl');
      const stored = await run('sh', '-c', `${curl} -sS`);
      expect(stored).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
      const created = JSON.parse(stored.slice(stored.indexOf('{'))) as object;
      expect(created).toMatchObject(user);

      // The key is the same, so it gets the same user, and so does the page.
      const sample = await sampleOf(page, 'createUser', 'fetch');
      const program = sample.replace('await response.json()', 'await response.text()');
      expect(await run(process.execPath, '--input-type=module', '--eval', program)).toBe(
        `201 ${JSON.stringify(created)}\n`,
      );
      const shown = await press(page, 'createUser');
      expect([shown.headers, bodyOf(shown)]).toEqual([expect.stringContaining('idempotency-replayed\ntrue'), created]);

      await formOf(page, 'listUsers').getByRole('textbox', { name: 'limit optional' }).fill('1');
      const listed = await run('sh', '-c', `${await sampleOf(page, 'listUsers', 'curl')} -sS`);
      expect(JSON.parse(listed.slice(listed.indexOf('[')))).toHaveLength(1);
      await form.locator('textarea').fill('@nothing');
      expect(await sampleOf(page, 'createUser', 'curl')).toContain("--data-raw '@nothing'");
    });

    test('sends each operation as it is filled in, and gets no error', async () => {
      const page = await open(browser, app.url);
      for (const { operationId } of operations) expect((await press(page, operationId)).status).toMatch(/^20[01] /);
    });

    test('gets a user with the id that the service has made, and says so if there is none', async () => {
      const page = await open(browser, app.url);
      const form = formOf(page, 'getUser');
      await page.route('**/api/users?*', (route) => route.fulfill({ json: [] }), { times: 1 });
      await form.getByRole('button', { name: 'Send' }).click();
      await form.getByText('There is none yet: create one first').waitFor();
      const id = String(bodyOf(await press(page, 'createUser'))['id']);
      expect(await form.getByLabel('id', { exact: true }).inputValue()).toBe(id);
      expect(await sampleOf(page, 'getUser', 'curl')).toBe(`curl -i ${app.url}/api/users/${id}`);
      expect((await press(page, 'getUser')).body).toContain(id);
      await form.getByLabel('id', { exact: true }).fill('');
      expect((await press(page, 'getUser')).status).toMatch(/^200 OK/);
    });

    test('can be used with the keyboard alone', async () => {
      const page = await open(browser, app.url);
      const form = formOf(page, 'createOrder');
      const tab = (name: string): Locator => form.getByRole('tab', { name, exact: true });
      await tab('201').focus();
      for (const [key, name, panel] of [
        ['ArrowRight', '400', 'body.items[0].quantity must be >= 1'],
        ['End', '503', 'try again in a moment'],
        ['Home', '201', '"createdAt"'],
        ['ArrowLeft', '503', 'It is not known whether'],
      ] as const) {
        await page.keyboard.press(key);
        expect(await page.evaluate('document.activeElement.textContent')).toBe(name);
        await form.getByRole('tabpanel', { name }).getByText(panel).first().waitFor();
      }
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.tagName')).toBe('PRE');
      await page.locator('#createOrder summary').first().focus();
      await page.keyboard.press('Enter');
      await form.getByText('body.items').or(form.getByText('items[].productId')).first().waitFor();
      await form.getByRole('button', { name: 'Send' }).focus();
      await page.keyboard.press('Enter');
      await expect(form.getByRole('status').getByText('201 Created').waitFor()).resolves.toBeUndefined();
    });

    test.each(['light', 'dark'] as const)(
      'has no findings of axe, at 2,560, 1,440 and 390 px, when the system is %s, nor after the switch',
      async (colorScheme) => {
        const page = await open(browser, app.url, { colorScheme });
        await press(page, 'createOrder');
        await press(page, 'createOrder', 'Replay');
        await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true");
        await page.evaluate(axe.source);
        const other = colorScheme === 'dark' ? 'light' : 'dark';
        for (const theme of [colorScheme, other]) {
          if (theme === other) await page.getByRole('button', { name: 'Switch between light and dark' }).click();
          for (const width of [2560, 1440, 390]) {
            await page.setViewportSize({ width, height: 900 });
            await expect.poll(() => page.evaluate('innerWidth')).toBe(width);
            const { violations } = await page.evaluate<AxeResults>(
              `axe.run(${JSON.stringify({ resultTypes: ['violations'], ...(theme === other && { runOnly: COLORS }) })})`,
            );
            expect(violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])).toEqual([]);
            expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
            const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
            expect(background).toBe(theme === 'dark' ? 'rgb(14, 17, 22)' : 'rgb(245, 246, 248)');
          }
        }
      },
    );

    test('shows all panels of all statuses without its script', async () => {
      const page = await open(browser, app.url, { javaScriptEnabled: false });
      await page.locator('#createOrder-503').getByText('It is not known whether').waitFor();
      await page.locator('#createOrder-201').getByText('"createdAt"').first().waitFor();
      expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0);
    });
  },
  TIMEOUT_MS,
);

describe.skipIf(chromiumUnwanted)(
  'the API reference in Chromium beside the inspector',
  () => {
    const start = async (env: Record<string, string>): Promise<Service> => {
      const all = {
        PORT: '0',
        DATA_DIR: ':memory:',
        LOG_LEVEL: 'silent',
        INSPECTOR: '1',
        NODE_ENV: 'development',
        ...env,
      };
      const service = await startService(readConfig(all));
      onTestFinished(() => service.stop());
      return service;
    };

    test('links each response to its request there, from the first one on', async () => {
      const page = await open(browser, (await start({})).url);
      const { headers } = await press(page, 'createOrder');
      const [, requestId = ''] = headers.split('\n');
      const opened = page.waitForEvent('popup');
      await formOf(page, 'createOrder').getByRole('link', { name: 'Show in the inspector' }).click();
      const inspector = await opened;
      await inspector.getByText('INSERT INTO orders').first().waitFor();
      expect(await inspector.getByText(requestId).count()).toBeGreaterThan(0);
    });

    test('has the theme of the inspector, whichever of them switches it', async () => {
      const { url } = await start({});
      const page = await open(browser, url, { colorScheme: 'light' });
      const toggle = (of: Page): Promise<void> =>
        of.getByRole('button', { name: 'Switch between light and dark' }).click();
      expect(await themeOf(page)).toBe('light');
      await toggle(page);
      expect(await themeOf(page)).toBe('dark');
      await page.reload();
      expect(await themeOf(page)).toBe('dark');
      const inspector = await page.context().newPage();
      await inspector.goto(`${url}/inspector/`);
      expect(await themeOf(inspector)).toBe('dark');
      await toggle(inspector);
      await expect.poll(() => themeOf(page)).toBe('light');
    });
  },
  TIMEOUT_MS,
);
