import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

describe.skipIf(chromiumUnwanted)('the replay of a request in Chromium', () => {
  const t = useBrowserApp();
  const button = (name: string) => t.page.locator('.player').getByRole('button', { name, exact: true });
  const bar = () => t.page.getByRole('slider', { name: 'Step of the request' });
  const play = async (path: string): Promise<void> => {
    await t.ask(`${path}/1`);
    await t.page.locator('.caption', { hasText: `${path}/:id` }).waitFor();
    await bar().fill('0');
    await button('Play').click();
  };
  const said = () => t.page.locator('.caption .said').textContent();

  it('is paused, stepped in both directions and scrubbed, and boxes and services follow', async () => {
    await t.start();
    await t.open();
    await play('/orders');
    await button('Pause').click();
    await button('Play').waitFor();
    const steps = Number(await bar().getAttribute('max'));
    await bar().fill('0');
    await expect.poll(said).toBe('A request arrives');
    expect(await t.page.locator('.box.open').count()).toBe(1);
    await button('Step forward').click();
    await expect.poll(said).toBe('A request scope opens');
    expect(await t.page.locator('.box.open').count()).toBe(2);
    await button('Step back').click();
    await expect.poll(() => t.page.locator('.box.open').count()).toBe(1);
    await bar().fill(String(steps));
    await expect.poll(said).toContain('Its scopes are disposed');
    expect(await button('Step forward').isDisabled()).toBe(true);
  });

  it('stays with a request that the user looks at, until the newest is wanted', async () => {
    await t.start();
    await t.open();
    await play('/orders');
    await button('Pause').click();
    await t.ask('/users/1');
    await t.page.getByRole('tab', { name: 'Requests' }).click();
    await t.row('/users').waitFor();
    await t.page.getByRole('tab', { name: 'Graph' }).click();
    expect(await t.page.locator('.caption .who').textContent()).toContain('/orders/:id');
    await button('Newest').click();
    await expect(t.page.locator('.caption .who', { hasText: '/users/:id' }).waitFor()).resolves.toBeUndefined();
  });

  it('waits for the user who wants less motion', async () => {
    await t.start();
    await t.page.emulateMedia({ reducedMotion: 'reduce' });
    await t.open();
    await t.ask('/orders/1');
    await t.page.getByText('Play it, or go through it step by step').waitFor();
    await button('Step forward').click();
    await expect.poll(said).toBe('A request arrives');
    await button('Step forward').click();
    await expect.poll(said).toBe('A request scope opens');
    await expect(button('Play').waitFor()).resolves.toBeUndefined();
  });

  it('plays a request that is chosen in the list, and stays with it', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/sold-out/1');
    await t.ask('/users/1');
    await t.row('/sold-out').click();
    await t.page.getByRole('button', { name: 'Play in the graph' }).click();
    await t.page.getByRole('tab', { name: 'Graph', selected: true }).waitFor();
    await t.page.locator('.caption .who', { hasText: '/sold-out/:id' }).waitFor();
    await bar().fill(String(await bar().getAttribute('max')));
    await expect(button('Newest').waitFor()).resolves.toBeUndefined();
  });
});
