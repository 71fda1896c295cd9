import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

describe.skipIf(chromiumUnwanted)('keyboard shortcuts in Chromium', () => {
  const t = useBrowserApp();
  const shown = () => t.page.locator('[role=tab][aria-selected=true]').getAttribute('aria-controls');
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await t.page.keyboard.press(key);
  };

  it('change the view, choose requests, open one and go back', async () => {
    await t.start();
    await t.open('#/graph');
    await press('n');
    await expect.poll(shown).toBe('now');
    await press('r');
    await expect.poll(shown).toBe('requests');
    for (const path of ['/users/1', '/orders/1']) await t.ask(path);
    await t.page.locator('.numbers-line', { hasText: '2 requests' }).waitFor();
    const chosen = t.page.locator('.request[aria-current] .route');
    await press('j', 'j');
    await expect.poll(() => chosen.innerText()).toBe('/users/:id');
    await press('k');
    await expect.poll(() => chosen.innerText()).toBe('/orders/:id');
    await press('p');
    await expect.poll(shown).toBe('graph');
    await press('r', 'j');
    await t.page.locator('.request-view').waitFor();
    await t.page.locator('.pane .details').focus();
    await press('Escape');
    await expect.poll(() => chosen.count()).toBe(0);
    await press('Space');
    await t.page.getByRole('button', { name: 'Pause', pressed: true }).waitFor();
    await press('g');
    await expect.poll(shown).toBe('graph');
  });

  it('are listed in a sheet, go to no field that takes text, and can be switched off', async () => {
    await t.start();
    await t.open('#/requests');
    await press('?');
    const sheet = t.page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await sheet.getByText('filter the requests').waitFor();
    await press('g');
    await t.page.getByLabel('Single keys are shortcuts').uncheck();
    // The page has handled each key when it has handled the next one, or a click.
    await press('Escape');
    await sheet.waitFor({ state: 'hidden' });
    expect(await shown()).toBe('requests');
    await press('g');
    await t.page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await sheet.waitFor();
    expect(await shown()).toBe('requests');
    await t.page.reload();
    await t.page.locator('[data-state=live]').waitFor();
    await press('g');
    await t.page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await t.page.getByLabel('Single keys are shortcuts').check();
    expect(await shown()).toBe('requests');
    await press('Escape', '/', 'g', 'n');
    await expect.poll(() => t.page.getByLabel('Filter').inputValue()).toBe('gn');
    expect(await shown()).toBe('requests');
  });
});
