import { describe, expect, it } from 'vitest';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';
import { useBrowserApp } from '../support/browser-app.js';

describe.skipIf(chromiumUnwanted)('requests on the page in Chromium', () => {
  const t = useBrowserApp();

  it('lists a request, and opens it as a waterfall', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders/:id').filter({ hasText: 'committed' }).click();
    await expect
      .poll(() => t.page.locator('.waterfall .row:not(.axis) .label').allTextContents())
      .toEqual([
        'request arrives',
        'request scope',
        'transaction scope',
        'connection',
        'BEGIN',
        'createIOrders',
        "INSERT INTO orders VALUES ($1, '…')",
        'COMMIT',
        'response201',
      ]);
  });

  it('marks a request in which the transaction check has found something, with the line of code', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/checked/1');
    await t.row('check').and(t.page.locator('.trouble')).click();
    const row = t.page.locator('.row[data-kind=finding][data-mood=bad] .label');
    await row.waitFor();
    expect(await row.innerText()).toContain('statement outside of the open transaction');
    expect(await row.innerText()).toContain('src/audit.ts:12');
  });

  it('marks a request whose client has disconnected', async () => {
    await t.start();
    await t.open('#/requests');
    const client = new AbortController();
    const left = fetch(`${t.app.url}/never/1`, { signal: client.signal }).catch(() => undefined);
    await t.row('/never').waitFor();
    client.abort();
    await left;
    await t.row('aborted').and(t.page.locator('.trouble')).click();
    await expect(t.page.locator('.row[data-kind=aborted][data-mood=bad]').waitFor()).resolves.toBeUndefined();
  });

  it('shows a request in progress until now, and goes on with it', async () => {
    await t.start();
    await t.open('#/requests');
    const client = new AbortController();
    const left = fetch(`${t.app.url}/never/1`, { signal: client.signal }).catch(() => undefined);
    await t.row('/never').click();
    const seconds = async (): Promise<number> => {
      const [, number = '0', unit] =
        /([\d.]+) (ms|s)/.exec(await t.page.locator('.row.unclosed .took').first().innerText()) ?? [];
      return unit === 's' ? Number(number) : Number(number) / 1000;
    };
    await expect.poll(seconds).toBeGreaterThan(0.3);
    const before = await seconds();
    await expect.poll(seconds).toBeGreaterThan(before);
    client.abort();
    await left;
  });

  it('filters, and pauses', async () => {
    await t.start();
    await t.open('#/requests');
    await Promise.all([t.ask('/users/1'), t.ask('/sold-out/1')]);
    await t.row('/users').waitFor();
    await t.page.getByLabel('Filter').fill('rolled');
    await t.row('/users').waitFor({ state: 'hidden' });
    await t.row('/sold-out').waitFor();
    await t.page.getByLabel('Filter').fill('');
    await t.ask('/missing/1');
    await t.page.getByRole('button', { name: 'Trouble only' }).click();
    await t.row('/users').waitFor({ state: 'hidden' });
    await t.row('/missing').waitFor();
    await t.page.getByRole('button', { name: 'All' }).click();
    const pause = t.page.getByRole('button', { name: 'Pause' });
    await pause.click();
    await t.ask('/orders/1');
    await t.page.getByText('1 new').waitFor();
    expect(await t.row('/orders').count()).toBe(0);
    await pause.click();
    await t.row('/orders').waitFor();
  });

  it('open with the newest trouble, not with an empty pane', async () => {
    await t.start();
    await t.open('');
    await t.ask('/missing/1');
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    await t.page.getByRole('tab', { name: 'Requests' }).click();
    await t.page.locator('.request-view h2', { hasText: '/missing/:id' }).waitFor();
    expect(await t.page.locator('.request[aria-current] .route').innerText()).toBe('/missing/:id');
  });

  it('say that a request has no route, but not its path, which is never recorded', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/a-secret-path');
    await t.row('404').waitFor();
    expect(await t.row('404').locator('.route').innerText()).toBe('no route');
    expect(await t.page.content()).not.toContain('a-secret-path');
  });

  it('say how many of how many are shown, and let the user choose how many are', async () => {
    await t.start({ samplesPerSecond: 2 });
    await t.open('#/requests');
    await Promise.all(Array.from({ length: 40 }, () => t.ask('/users/1')));
    await t.page
      .getByText(/^\d+ shown of 40; without trouble 2 a second are listed, and the newest 300 kept$/)
      .waitFor();
    await t.page.getByLabel('How many requests without trouble').selectOption('1000');
    await t.page.getByText('without trouble 1,000 a second').waitFor();
    const before = await t.page.locator('.request').count();
    await Promise.all(Array.from({ length: 40 }, () => t.ask('/users/1')));
    await expect.poll(() => t.page.locator('.request').count()).toBe(before + 40);
  });
});
