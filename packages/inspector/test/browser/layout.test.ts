import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '../support/chromium.js';

/** Names of what is not completely within the window, from left to right. */
const CUT_OFF = `[...document.querySelectorAll('.top button, .connection, .vitals dd, .took, .status, .tools > *')]
  .filter((element) => element.checkVisibility() && !element.matches('[role=tab]'))
  .filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return left < 0 || right > innerWidth + 0.5 || element.scrollWidth > element.clientWidth + 1;
  })
  .map((element) => element.outerHTML)`;

describe.skipIf(chromiumUnwanted)('the layout of the page in Chromium', () => {
  const t = useBrowserApp();

  it.for([320, 390, 600, 768, 1024, 1280, 1440, 2560])('cuts nothing off in a window of %i pixels', async (width) => {
    await t.start();
    await t.page.setViewportSize({ width, height: 800 });
    await t.open('#/requests');
    for (const path of ['/orders/1', '/sold-out/1', '/checked/1']) await t.ask(path);
    await t.row('/checked').waitFor();
    for await (const name of t.views()) {
      const overflow = await t.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([name, await t.page.evaluate(CUT_OFF), overflow]).toEqual([name, [], 0]);
    }
  });

  it('shows the list and the request one after the other in a narrow window', async () => {
    await t.start();
    await t.page.setViewportSize({ width: 390, height: 800 });
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders').click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    expect(await t.page.locator('.list').isVisible()).toBe(false);
    await t.page.getByRole('button', { name: '← Requests' }).click();
    await t.row('/orders').waitFor();
    expect(await t.page.locator('.details').isVisible()).toBe(false);
    await t.page.keyboard.press('ArrowDown');
    await t.page.locator('.request[aria-selected=true]').waitFor();
    expect(await t.page.locator('.list').isVisible()).toBe(true);
    await t.page.keyboard.press('Enter');
    await expect(t.page.locator('.row[data-kind=commit]').waitFor()).resolves.toBeUndefined();
  });

  it('has a usable list with a zoom of 400 %', async () => {
    await t.start();
    await t.page.setViewportSize({ width: 320, height: 180 });
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders').scrollIntoViewIfNeeded();
    expect((await t.page.locator('.list').boundingBox())?.height).toBeGreaterThan(200);
    await t.row('/orders').click();
    await expect(t.page.locator('.row[data-kind=commit]').waitFor()).resolves.toBeUndefined();
  });
});
