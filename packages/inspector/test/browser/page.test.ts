import { chromiumUnwanted, launchChromium } from '@ambit/test-kit/chromium';
import axe from 'axe-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type FaultyApp, startFaulty } from '../support/faulty.js';

const FINDINGS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`;

/** The elements that are cut off by the window, and by how much the page scrolls sideways. */
const CUT_OFF = `[document.documentElement.scrollWidth - innerWidth, ...[...document.querySelectorAll(
  '.top :is(a, span), .took, .request .badge, .tools > *')]
  .filter((element) => element.checkVisibility())
  .filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return left < 0 || right > innerWidth + 0.5;
  })
  .map((element) => element.outerHTML)]`;

/** An element of each view that is there once requests are shown. */
const CONTENT = { Now: '#now .trouble', Requests: '#requests .request', Graph: '.service' };

/** One story: each test goes on where the one before has left the page. */
describe.skipIf(chromiumUnwanted)('the page in Chromium', () => {
  // More than any one wait on a machine that is busy with other things.
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
  let browser: Browser;
  let app: FaultyApp;
  let page: Page;
  const complaints: string[] = [];
  const origins = new Set<string>();

  const trouble = (kind: string): Locator => page.locator(`#now .trouble[data-kind="${kind}"]`);
  const row = (text: string): Locator => page.locator('.request', { hasText: text }).first();
  const go = (view: string): Promise<void> =>
    page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click();

  beforeAll(async () => {
    browser = await launchChromium();
    app = await startFaulty('SQLite');
    page = await browser.newPage({ viewport: { width: 1280, height: 720 }, reducedMotion: 'reduce' });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  it('opens with what is wrong, by cause, keeps its order under the mouse, and leads to the step', async () => {
    await page.goto(`${app.url}/inspector`);
    await page.locator('[data-state=live]').waitFor();
    for (let i = 0; i < 3; i++) await app.ask('n-plus-one');
    await trouble('N+1').getByText('3×').waitFor();
    expect(await page.title()).toMatch(/^\(\d troubles?\) Ambit inspector$/);
    expect(await trouble('N+1').innerText()).toMatch(/sent the statement 12 times\s+.*handlers\.mjs:\d+:\d+/s);
    await trouble('N+1').hover();
    await app.ask('missing-key');
    await page.getByText(/\d came meanwhile/).waitFor();
    await page.mouse.move(0, 0);
    await trouble('failed service').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await expect.poll(() => page.locator('#now .trouble').count()).toBe(0);
    await app.ask('n-plus-one');
    await trouble('N+1').getByText('new').waitFor();
    await trouble('N+1').getByRole('link', { name: 'step by step' }).click();
    await page.locator('.row[data-at]', { hasText: 'products' }).waitFor();
    expect(page.url()).toMatch(/#\/requests\/[\da-f]{8}-\d+\?at=\w+$/);
  });

  it('lists requests, filters them, and shows one as a waterfall', async () => {
    await page.locator('.row[data-kind=statement]', { hasText: /\d×/ }).first().waitFor();
    for (const path of ['waits', 'leak', 'refused', 'finding']) await app.ask(path);
    await page.getByLabel('Filter').fill('committed get /waits/:id');
    await expect.poll(() => page.locator('.request').count()).toBe(1);
    await row('/waits').click();
    await page.locator('.row[data-kind=commit]').waitFor();
    // Under the mouse nothing moves, so what has come since would not be shown.
    await page.mouse.move(0, 0);
    await page.getByLabel('Filter').fill('');
    await row('leak').waitFor();
    await page.getByLabel('Filter').fill('trouble handler');
    await expect.poll(() => row('/waits').count()).toBe(0);
    await page.locator('.pane .details').focus();
    await page.keyboard.press('Escape');
    await page.getByText('Choose a request to see').waitFor();
    // How to make a test of one that was recorded.
    await app.ask('failed-handler');
    await row('/failed-handler').click();
    await page.getByText(/^npx ambit replay .+\.json --write$/).waitFor();
  });

  it('shows the graph: who depends on whom, and the path of a problem', async () => {
    await go('Graph');
    const details = page.getByRole('region', { name: 'Details' });
    await page.locator('.service', { hasText: 'IDatabasePool' }).click();
    await details.getByText('singleton factory of [application]: wins').waitFor();
    await page.keyboard.press('Escape');
    await details.getByRole('link', { name: /^Captive dependency: 'IGreeter'/ }).click();
    await expect.poll(() => page.locator('.service.near').allTextContents()).toEqual(['IGreeter', 'IUser']);
    await page.locator('.service', { hasText: 'IPrices' }).click();
    await details.getByRole('link', { name: 'IInvoices' }).waitFor();
    expect(await page.locator('.service.near').allTextContents()).toEqual(['IInvoices']);
    const box = page.locator('[data-id="application"] > [data-id="application > request"]');
    expect(await box.locator('.service').allTextContents()).toContain('IPrices');
  });

  it.each([
    [320, 'dark'],
    [1024, 'light'],
    [2560, 'dark'],
  ] as const)('has nothing wrong for axe, and nothing cut off, at %i pixels, %s', async (width, colorScheme) => {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await page.goto(`${app.url}/inspector/`);
    await page.evaluate(axe.source);
    const look = async (name: string): Promise<void> =>
      expect([name, await page.evaluate(FINDINGS), await page.evaluate(CUT_OFF)]).toEqual([name, [], [0]]);
    for (const [name, content] of Object.entries(CONTENT)) {
      await go(name);
      await page.locator(content).first().waitFor();
      await look(name);
    }
    await page.goto(`${app.url}/inspector/#/requests?q=leak`);
    await row('/leak').click();
    await page.locator('.request-view .trouble').first().waitFor();
    await look('a request');
    const background = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(14, 17, 22)' : 'rgb(245, 246, 248)');
  });

  it('asks for what has changed while it is visible, and not while it is hidden', async () => {
    // As if another tab were in front of it, which a browser without windows has not.
    const hide = (hidden: boolean): Promise<unknown> =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await page.waitForRequest(/inspector\/state/);
    await hide(true);
    await expect(page.waitForRequest(/inspector\/state/, { timeout: 3000 })).rejects.toThrow('Timeout');
    await hide(false);
    await page.waitForRequest(/inspector\/state/);
    expect([complaints, [...origins]]).toEqual([[], [app.url]]);
  });

  it('says when the server is silent, and survives its restart', async () => {
    await go('Now');
    await page.evaluate(`globalThis.states = new Set();
      new MutationObserver(() => globalThis.states.add(document.querySelector('[data-state]').dataset.state))
        .observe(document, { subtree: true, attributes: true, attributeFilter: ['data-state'] });`);
    const until = performance.now() + 8000;
    while (performance.now() < until);
    await page.locator('[data-state=live]').waitFor();
    const { port } = app;
    await app.close();
    await page.locator('[data-state=reconnecting]').waitFor();
    app = await startFaulty('SQLite', undefined, port);
    await page.locator('[data-state=live]').waitFor();
    await trouble('graph').first().waitFor();
    await expect.poll(() => trouble('N+1').count()).toBe(0);
    expect(await page.evaluate('[...states]')).toEqual(expect.arrayContaining(['no response', 'reconnecting']));
  });
});
