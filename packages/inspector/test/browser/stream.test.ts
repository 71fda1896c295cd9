import { once } from 'node:events';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

const TABS = Number(process.env['TABS'] ?? 7);

describe.skipIf(chromiumUnwanted)('the stream of the page in Chromium', () => {
  const t = useBrowserApp();
  const openTab = async (): Promise<Page> => {
    const tab = await t.context.newPage();
    await tab.goto(`${t.app.url}/inspector/#/requests`);
    return tab;
  };
  const isLive = (tab: Page) => tab.locator('[data-state=live]').waitFor();

  // HTTP/1.1 has six connections for all tabs of a browser.
  it(`is one for ${TABS} tabs, which are all live, and leaves connections for the application`, async () => {
    await t.start();
    await t.open('#/requests');
    const tabs = [t.page];
    while (tabs.length < TABS) tabs.push(await openTab());
    for (const tab of tabs) await isLive(tab);
    expect(t.app.streams()).toBe(1);
    expect(await t.page.evaluate("fetch('/users/1').then(({ status }) => status)")).toBe(200);
    for (const tab of tabs) await tab.locator('.request', { hasText: '/users' }).waitFor();
  }, 600_000);

  it('goes on when one of two tabs is closed, and ends with the last one', async () => {
    await t.start();
    await t.open('#/requests');
    const other = await openTab();
    await isLive(other);
    await t.page.close();
    await t.ask('/users/1');
    await other.locator('.request', { hasText: '/users' }).waitFor();
    expect(t.app.streams()).toBe(1);
    const ended = once(t.app.server, 'stream closed');
    await other.close();
    await ended;
    expect(t.app.streams()).toBe(0);
  });

  it('ends while the only tab is at another page, and begins again with the button "back"', async () => {
    await t.start();
    await t.open('#/requests');
    const ended = once(t.app.server, 'stream closed');
    await t.page.goto(`${t.app.url}/users/1`);
    await ended;
    await t.page.goBack();
    await isLive(t.page);
    await t.ask('/orders/1');
    await expect(t.row('/orders').waitFor()).resolves.toBeUndefined();
  });

  it('ends with a tab that crashes', async () => {
    await t.start();
    await t.open();
    const ended = once(t.app.server, 'stream closed');
    void t.page.goto('chrome://crash').catch(() => undefined);
    await expect(ended).resolves.toBeDefined();
  });

  it('is one for each visible tab in a browser without shared workers', async () => {
    await t.start();
    await t.context.addInitScript('delete globalThis.SharedWorker');
    await t.open('#/requests');
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    const ended = once(t.app.server, 'stream closed');
    await t.hide(t.page, true);
    await ended;
    await t.ask('/orders/1');
    await t.hide(t.page, false);
    await expect(t.row('/orders').waitFor()).resolves.toBeUndefined();
  });

  it('asks for the token again when the login has expired', async () => {
    await t.start({ token: 'a token that is long enough' });
    await t.page.goto(`${t.app.url}/inspector/`);
    await t.page.getByLabel('Token').fill('a token that is long enough');
    await t.page.keyboard.press('Enter');
    await isLive(t.page);
    const { port } = t.app;
    await t.app.close();
    // Earlier, a last response of the server would have the page load again while nobody listens.
    await t.context.clearCookies();
    t.renew();
    await t.start({ token: 'a token that is long enough' }, port);
    await expect(t.page.getByLabel('Token').waitFor()).resolves.toBeUndefined();
  });
});
