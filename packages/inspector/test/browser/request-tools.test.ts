import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '../support/chromium.js';

describe.skipIf(chromiumUnwanted)('the tools for requests in Chromium', () => {
  const t = useBrowserApp();
  const askSome = async (): Promise<void> => {
    for (const path of ['/users/1', '/orders/1', '/sold-out/1']) await t.ask(path);
    await t.page.locator('.hint', { hasText: '3 of 3' }).waitFor();
  };
  const routes = () => t.page.locator('.request .route').allInnerTexts();

  it('filter by what the address says, and write what was typed into it', async () => {
    await t.start();
    await t.open('#/requests?q=status:4xx');
    for (const path of ['/users/1', '/orders/1', '/sold-out/1']) await t.ask(path);
    await t.page.locator('.hint', { hasText: '1 of 3' }).waitFor();
    expect(await routes()).toEqual(['/sold-out/:id']);
    await t.page.getByLabel('Filter').fill('service:IUsers or outcome:committed');
    await t.page.locator('.hint', { hasText: '2 of 3' }).waitFor();
    const written = () => new URLSearchParams(t.page.url().split('?')[1]).get('q');
    await expect.poll(written).toBe('service:IUsers or outcome:committed');
    await t.page.reload();
    await t.page.locator('.hint', { hasText: '2 of 3' }).waitFor();
    await t.page.getByLabel('Filter').fill('statement:insert -is:trouble');
    await t.page.locator('.hint', { hasText: '1 of 3' }).waitFor();
    expect(await routes()).toEqual(['/orders/:id']);
  });

  it('say what is wrong with a filter', async () => {
    await t.start();
    await t.open('#/requests');
    await t.page.getByLabel('Filter').fill('stauts:500');
    await t.page.getByText('There is no “stauts:”').waitFor();
    expect(await t.page.getByLabel('Filter').getAttribute('aria-invalid')).toBe('true');
  });

  it('suggest how a filter goes on, by keyboard, and remember it', async () => {
    await t.start();
    await t.open('#/requests');
    await askSome();
    await t.page.keyboard.press('/');
    await t.page.keyboard.type('route:sold');
    await t.page.keyboard.press('ArrowDown');
    await t.page.keyboard.press('Enter');
    await t.page.locator('.hint', { hasText: '1 of 3' }).waitFor();
    expect(await t.page.getByLabel('Filter').inputValue()).toBe('route:/sold-out/:id ');
    await t.page.keyboard.press('Tab');
    await t.page.getByLabel('Filter').fill('');
    await t.page.getByRole('option', { name: 'route:/sold-out/:id recent' }).click();
    await expect(t.page.locator('.hint', { hasText: '1 of 3' }).waitFor()).resolves.toBeUndefined();
  });

  it('pin a request, which stays when the server has forgotten it, and when the page is loaded again', async () => {
    await t.start({ keep: 1 });
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders').click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    await t.page.keyboard.press('p');
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    const pinned = t.page.getByRole('group', { name: 'Pinned' }).locator('.request');
    await expect.poll(() => pinned.count()).toBe(1);
    await t.page.goto(`${t.app.url}/inspector/assets/icon.svg`);
    await t.open('#/requests');
    await pinned.click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    await t.page.getByRole('button', { name: 'Pinned' }).click();
    await expect(pinned.waitFor({ state: 'detached' })).resolves.toBeUndefined();
  });

  it('complete what was pinned while it was in progress', async () => {
    await t.start();
    await t.open('#/requests');
    const client = new AbortController();
    const left = fetch(`${t.app.url}/never/1`, { signal: client.signal }).catch(() => undefined);
    await t.row('/never').click();
    await t.page.locator('.details h2').waitFor();
    await t.page.keyboard.press('p');
    await t.page.keyboard.press('Escape');
    client.abort();
    await left;
    const pinned = t.page.getByRole('group', { name: 'Pinned' }).locator('.request', { hasText: 'aborted' });
    await expect(pinned.waitFor()).resolves.toBeUndefined();
  });

  it('count trouble since somebody looked, on the tab and in the title', async () => {
    await t.start();
    await t.open('#/graph');
    await t.ask('/users/1');
    for (let i = 0; i < 3; i++) await t.ask('/sold-out/1');
    const badge = t.page.locator('#trouble-count');
    await badge.and(t.page.locator(':text("3")')).waitFor();
    expect(await t.page.title()).toBe('(3) Ambit inspector');
    await t.page.getByRole('tab', { name: 'Requests' }).click();
    await badge.waitFor({ state: 'hidden' });
    expect(await t.page.title()).toBe('Ambit inspector');
  });
});
