import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

/** Names of what is not completely within the window, from left to right. */
const CUT_OFF = `[...document.querySelectorAll('.top button, .connection, .rate, .took, .status, .request .badge, .tools > *')]
  .filter((element) => element.checkVisibility())
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

  it.for([390, 520, 900, 1024, 1280, 1440, 2560])(
    'has a head in one line at %i pixels, also with much to say',
    async (width) => {
      await t.start({ links: { 'API reference': '/docs' } });
      await t.page.setViewportSize({ width, height: 800 });
      await t.open('');
      await t.page.evaluate(`document.querySelector('.troubles').textContent = '999 troubles';
      document.querySelector('.rate b').textContent = '99,999';
      document.querySelector('.connection').dataset.state = 'reconnecting';`);
      const [state, brand, ...rest] = await t.page.evaluate<number[]>(
        `['.troubles', '.brand', '.rate', '.connection', '#help', '#theme'].map((one) => {
        const { top, bottom, left, right } = document.querySelector(one).getBoundingClientRect();
        return left >= 0 && right <= innerWidth ? Math.round((top + bottom) / 2) : NaN;
      })`,
      );
      for (const middle of [brand, ...rest])
        expect(Math.abs((middle ?? Number.NaN) - (state ?? Number.NaN))).toBeLessThan(3);
      const height = await t.page.evaluate<number>("document.querySelector('.top').offsetHeight");
      expect(height).toBeLessThanOrEqual(width > 1080 ? 57 : 92);
      for (const tab of await t.page.getByRole('tab').all()) {
        const box = await tab.boundingBox();
        expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= width).toBe(true);
      }
    },
  );

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
