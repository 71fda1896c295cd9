import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

describe.skipIf(chromiumUnwanted)('the views of all requests in Chromium', () => {
  const t = useBrowserApp();
  const firstCells = (panel: string): Promise<string[]> => t.page.locator(`${panel} tbody th`).allInnerTexts();
  const header = (name: string): Locator => t.page.getByRole('columnheader', { name, exact: true });

  it('lists routes, sorts them by a column, and opens the requests of one', async () => {
    await t.start();
    await t.open('#/totals/routes');
    for (const path of ['/users/1', '/users/2', '/missing/1', '/many/1']) await t.ask(path);
    await expect.poll(() => firstCells('#routes')).toHaveLength(3);
    const order = () => header('requests').getAttribute('aria-sort');
    await header('requests').getByRole('button').click();
    await expect.poll(order).toBe('descending');
    await t.page.mouse.move(0, 0);
    await expect.poll(async () => (await firstCells('#routes'))[0]).toBe('GET /users/:id');
    await header('requests').getByRole('button').click();
    await expect.poll(order).toBe('ascending');
    await expect.poll(async () => (await firstCells('#routes')).at(-1)).toBe('GET /users/:id');
    const failing = t.page.locator('#routes tr', { hasText: '/missing' });
    await expect.poll(() => failing.innerText()).toContain('100 %');
    await failing.getByRole('link').click();
    await t.row('/missing').waitFor();
    await expect.poll(() => t.page.locator('.request').count()).toBe(1);
  });

  it('counts on while routes are shown, and asks for nothing while they are not', async () => {
    await t.start();
    await t.open('#/totals/routes');
    await t.ask('/users/1');
    const cell = t.page.locator('#routes tbody td').first();
    await expect.poll(() => cell.innerText()).toBe('1');
    await t.ask('/users/1');
    await expect.poll(() => cell.innerText()).toBe('2');
    const left = t.page.waitForResponse('**/statements');
    await t.page.getByRole('button', { name: 'Statements' }).click();
    await left;
    let asked = 0;
    t.page.on('request', (request) => (asked += request.url().endsWith('/routes') ? 1 : 0));
    // Each view reads once a second, so the other one would have read in between.
    for (let i = 0; i < 2; i++) await t.page.waitForResponse('**/statements');
    expect(asked).toBe(0);
  });

  it('lists statements, the most frequent first where wanted, and opens the requests of one', async () => {
    await t.start();
    await t.open('#/totals/statements');
    for (const path of ['/users/1', '/orders/1', '/many/1']) await t.ask(path);
    await expect.poll(() => firstCells('#statements')).toHaveLength(3);
    await header('count').getByRole('button').click();
    await expect.poll(async () => (await firstCells('#statements'))[0]).toContain('"products"');
    const row = t.page.locator('#statements tr', { hasText: '"products"' });
    expect(await row.innerText()).toMatch(/browser-app\.ts:\d+/);
    await row.getByRole('link', { name: 'GET /many/:id' }).click();
    await t.row('/many').waitFor();
    await expect.poll(() => t.page.locator('.request').count()).toBe(1);
  });

  it('finds rows of a table', async () => {
    await t.start();
    await t.open('#/totals/statements');
    for (const path of ['/orders/1', '/many/1']) await t.ask(path);
    await expect.poll(() => firstCells('#statements')).toHaveLength(3);
    await t.page.getByLabel('Find in Statements').fill('insert');
    await expect.poll(() => firstCells('#statements')).toEqual([expect.stringContaining('INSERT INTO orders')]);
    await expect(t.page.locator('#statements').getByText('1 of 3').waitFor()).resolves.toBeUndefined();
  });

  it('shows what was created at start-up, until the first request', async () => {
    await t.start();
    t.container.resolve('IDatabasePool');
    await t.open('#/totals/start-up');
    await expect.poll(() => firstCells('#start-up')).toEqual([expect.stringContaining('IDatabasePool')]);
    expect(await t.page.locator('#start-up').innerText()).toContain('what was created before that is not seen');
    expect(await t.page.locator('#start-up').innerText()).toContain('No request has arrived yet.');
    await t.ask('/users/1');
    await t.page.getByText('The first request arrived after').waitFor();
  });

  it('says of a scope older than the recording that nobody knows its line', async () => {
    await t.start({ limitMs: 50 });
    t.container.createScope({ tags: ['job'] });
    await t.open('');
    const said = t.page
      .locator('.old', { hasText: 'job for more than' })
      .getByText('opened before the recording began');
    await expect(said.waitFor()).resolves.toBeUndefined();
  });
});
