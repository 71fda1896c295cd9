import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

describe.skipIf(chromiumUnwanted)('the list of requests in Chromium', () => {
  const t = useBrowserApp();
  const askOften = async (path: string, times: number): Promise<void> => {
    for (let i = 0; i < times; i++) await t.ask(path);
  };
  const positionOf = (ref: string) => t.page.evaluate(`document.getElementById('${ref}')?.getBoundingClientRect().top`);
  const count = (text: RegExp | string) => t.page.locator('.numbers-line', { hasText: text });

  it('draws two hundred requests, and more on demand', async () => {
    await t.start({ samplesPerSecond: 1000, keep: 1000 });
    await t.open('#/requests');
    await askOften('/users/1', 210);
    await count('210 requests').waitFor();
    expect(await t.page.locator('.request').count()).toBe(200);
    await t.page.getByRole('button', { name: '10 more' }).click();
    await expect.poll(() => t.page.locator('.request').count()).toBe(210);
  });

  it('keeps nothing of a request that has left the list', async () => {
    await t.start({ keep: 20, samplesPerSecond: 1_000_000 });
    await t.open('#/requests');
    const cdp = await t.context.newCDPSession(t.page);
    await cdp.send('Performance.enable');
    const nodesAfter = async (requests: number): Promise<number> => {
      for (let i = 0; i < requests; i += 20)
        await Promise.all(Array.from({ length: 20 }, (_, j) => t.ask(`/users/${i + j}`)));
      await t.page.locator('.numbers-line', { hasText: /^20 shown/ }).waitFor();
      await t.page.waitForTimeout(500);
      await cdp.send('HeapProfiler.collectGarbage');
      const { metrics } = await cdp.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'Nodes')?.value ?? 0;
    };
    const before = await nodesAfter(200);
    expect((await nodesAfter(1000)) - before).toBeLessThan(2000);
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
    await count(/^4 requests$/).waitFor();
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
    await expect(count('2 requests').waitFor()).resolves.toBeUndefined();
  });

  it('stays where it was scrolled to, and leads to the newest', async () => {
    await t.start({ samplesPerSecond: 1000 });
    await t.open('#/requests');
    await askOften('/users/1', 60);
    await count('60 requests').waitFor();
    await t.page.evaluate("document.querySelector('.list').scrollTop = 720");
    const middle = t.page.locator('.request').nth(25);
    const ref = (await middle.getAttribute('id')) ?? '';
    const before = await positionOf(ref);
    await askOften('/orders/1', 5);
    const newer = t.page.getByRole('button', { name: '↑ 5 new' });
    await newer.waitFor();
    expect(await positionOf(ref)).toBe(before);
    await newer.click();
    await expect(t.row('/orders').waitFor()).resolves.toBeUndefined();
  });

  it('keeps what it shows while it is paused', async () => {
    await t.start({ keep: 2 });
    await t.open('#/requests');
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    const pause = t.page.getByRole('button', { name: 'Pause' });
    await pause.click();
    await askOften('/orders/1', 2);
    await t.page.getByRole('button', { name: '↑ 2 new' }).waitFor();
    expect(await t.page.locator('.request').allInnerTexts()).toEqual([expect.stringContaining('/users')]);
    await pause.click();
    await t.row('/orders').waitFor();
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
    await t.page.getByRole('button', { name: 'copied' }).waitFor();
    const link = await t.page.evaluate<string>('navigator.clipboard.readText()');
    expect(link).toBe(t.page.url());
    expect(link).toBe(t.app.url + response.headers.get('x-debug-token-link'));
    const other = await t.context.newPage();
    await other.goto(link);
    await other.locator('.row[data-kind=commit]').waitFor();
    expect(await other.locator('.request[aria-current]').innerText()).toContain('/orders');
  });

  it('goes back to the list with the button "back"', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders').click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    await t.page.goBack();
    await t.page.getByText('Choose a request to see').waitFor();
    expect(await t.page.locator('.request[aria-current]').count()).toBe(0);
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
    await count('2 requests').waitFor();
    await t.page.getByLabel('Filter').fill(link.slice(link.lastIndexOf('/') + 1));
    await expect(count('1 shown of 2').waitFor()).resolves.toBeUndefined();
  });
});
