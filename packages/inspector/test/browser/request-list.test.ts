import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '../support/chromium.js';

describe.skipIf(chromiumUnwanted)('the list of requests in Chromium', () => {
  const t = useBrowserApp();
  const askOften = async (path: string, times: number): Promise<void> => {
    for (let i = 0; i < times; i++) await t.ask(path);
  };
  const positionOf = (ref: string) => t.page.evaluate(`document.getElementById('${ref}')?.getBoundingClientRect().top`);
  const count = (text: string) => t.page.locator('.hint', { hasText: text });

  it('has elements for the visible requests only, and says how many there are', async () => {
    await t.start({ samplesPerSecond: 1000, keep: 1000 });
    await t.open('#/requests');
    await askOften('/users/1', 150);
    await count('150 of 150').waitFor();
    const row = t.page.locator('.request').first();
    expect(await t.page.locator('.request').count()).toBeLessThan(60);
    expect([await row.getAttribute('aria-posinset'), await row.getAttribute('aria-setsize')]).toEqual(['1', '150']);
    await t.page.locator('.list').focus();
    await t.page.keyboard.press('End');
    const last = t.page.locator('.request[aria-selected=true]');
    await last.and(t.page.locator('[aria-posinset="150"]')).waitFor();
    await expect(last.isVisible()).resolves.toBe(true);
  });

  it('does not move under the mouse, also while it is short, and follows the newest again when the mouse leaves', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/users/1');
    await t.row('/users').hover();
    const ref = (await t.row('/users').getAttribute('id')) ?? '';
    const before = await positionOf(ref);
    await askOften('/orders/1', 3);
    await t.page.getByRole('button', { name: '↑ 3 new' }).waitFor();
    expect(await positionOf(ref)).toBe(before);
    await t.page.mouse.move(0, 0);
    await count('4 of 4').waitFor();
    expect(await t.page.locator('.request').first().innerText()).toContain('/orders');
    expect(await positionOf(ref)).not.toBe(before);
  });

  it('follows the newest under a finger', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    await t.page.locator('.list').dispatchEvent('pointerenter', { pointerType: 'touch' });
    await t.ask('/orders/1');
    await expect(count('2 of 2').waitFor()).resolves.toBeUndefined();
  });

  it('stays where it was scrolled to, and leads to the newest', async () => {
    await t.start({ samplesPerSecond: 1000 });
    await t.open('#/requests');
    await askOften('/users/1', 60);
    await count('60 of 60').waitFor();
    await t.page.evaluate("document.querySelector('.list').scrollTop = 720");
    // A row that the list makes when it has noticed.
    await t.page.locator('.request[aria-posinset="40"]').waitFor();
    const middle = t.page.locator('.request[aria-posinset="25"]');
    const ref = (await middle.getAttribute('id')) ?? '';
    const before = await positionOf(ref);
    await askOften('/orders/1', 5);
    const newer = t.page.getByRole('button', { name: '↑ 5 new' });
    await newer.waitFor();
    expect(await positionOf(ref)).toBe(before);
    await newer.click();
    await expect(t.row('/orders').waitFor()).resolves.toBeUndefined();
  });

  it('keeps what it shows while it is paused, and says what was lost meanwhile', async () => {
    await t.start({ keep: 2 });
    await t.open('#/requests');
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    const pause = t.page.getByRole('button', { name: 'Pause' });
    await pause.click();
    for (let i = 1; i <= 5; i++) {
      await t.ask('/orders/1');
      await count(`${i} new`).waitFor();
    }
    expect(await t.row('/users').isVisible()).toBe(true);
    await pause.click();
    await t.row('/orders').waitFor();
    await t.page.getByText('3 of the requests that came while the list was paused are no longer kept').waitFor();
    expect(await t.page.locator('.request').count()).toBe(2);
  });

  it('has an address for each request, which opens it in another tab', async () => {
    await t.start();
    await t.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await t.open('#/requests');
    const response = await t.ask('/orders/1');
    await t.row('/orders').click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    await t.page.getByRole('button', { name: 'Copy link' }).click();
    await t.page.getByRole('button', { name: 'Copied' }).waitFor();
    const link = await t.page.evaluate<string>('navigator.clipboard.readText()');
    expect(link).toBe(t.page.url());
    expect(link).toBe(t.app.url + response.headers.get('x-debug-token-link'));
    const other = await t.context.newPage();
    await other.goto(link);
    await other.locator('.row[data-kind=commit]').waitFor();
    expect(await other.locator('.request[aria-selected=true]').innerText()).toContain('/orders');
  });

  it('goes back to the list with the button "back"', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders').click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    await t.page.goBack();
    await t.page.getByText('Choose a request to see').waitFor();
    expect(await t.page.locator('.request[aria-selected=true]').count()).toBe(0);
  });

  it('keeps an opened request on the page when the recording starts again, and says so', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders').click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    const { port } = t.app;
    await t.app.close();
    t.renew();
    await t.start({}, port);
    await t.page.getByText('recorded before the recording started again').waitFor();
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    expect(await t.page.locator('.details h2').innerText()).toContain('/orders');
    await t.page.reload();
    await t.page.getByText('recorded before the recording started again').waitFor();
    expect(await t.page.locator('.details h2').count()).toBe(0);
  });

  it('finds a request by its address', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/users/1');
    const link = (await t.ask('/users/2')).headers.get('x-debug-token-link') ?? '';
    await count('2 of 2').waitFor();
    await t.page.getByLabel('Filter').fill(link.slice(link.lastIndexOf('/') + 1));
    await expect(count('1 of 2').waitFor()).resolves.toBeUndefined();
  });
});
