import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '../support/chromium.js';

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
    expect(await shown()).toBe('now');
    await press('r');
    expect(await shown()).toBe('requests');
    for (const path of ['/users/1', '/orders/1']) await t.ask(path);
    await t.page.locator('.hint', { hasText: '2 of 2' }).waitFor();
    const chosen = t.page.locator('.request[aria-selected=true] .route');
    await press('j', 'j');
    expect(await chosen.innerText()).toBe('/users/:id');
    await press('k', 'Enter');
    expect(await chosen.innerText()).toBe('/orders/:id');
    expect(await t.page.evaluate('document.activeElement.className')).toBe('details');
    await press('Escape');
    expect([await chosen.count(), await t.page.evaluate('document.activeElement.className')]).toEqual([0, 'list']);
    await press('Space');
    expect(await t.page.getByRole('button', { name: 'Pause' }).getAttribute('aria-pressed')).toBe('true');
    await press('g');
    expect(await shown()).toBe('graph');
  });

  it('are listed in a sheet, go to no field that takes text, and can be switched off', async () => {
    await t.start();
    await t.open('#/requests');
    await press('?');
    const sheet = t.page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await sheet.getByText('filter the requests').waitFor();
    await press('g');
    expect(await shown()).toBe('requests');
    await t.page.getByLabel('Single keys are shortcuts').uncheck();
    await press('Escape', 'g');
    expect([await sheet.isVisible(), await shown()]).toEqual([false, 'requests']);
    await t.page.reload();
    await t.page.locator('[data-state=live]').waitFor();
    await press('g');
    expect(await shown()).toBe('requests');
    await t.page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await t.page.getByLabel('Single keys are shortcuts').check();
    await press('Escape', '/', 'g', 'n');
    expect([await shown(), await t.page.getByLabel('Filter').inputValue()]).toEqual(['requests', 'gn']);
  });
});
