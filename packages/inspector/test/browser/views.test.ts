import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '../support/chromium.js';

describe.skipIf(chromiumUnwanted)('the views of all requests in Chromium', () => {
  const t = useBrowserApp();
  const firstCells = (panel: string): Promise<string[]> => t.page.locator(`${panel} tbody th`).allInnerTexts();
  const header = (name: string): Locator => t.page.getByRole('columnheader', { name, exact: true });

  it('lists routes, sorts them by a column, and opens the requests of one', async () => {
    await t.start();
    await t.open('#/routes');
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
    await failing.getByRole('button').click();
    await t.row('/missing').waitFor();
    await expect.poll(() => t.page.locator('.rows .request:visible').count()).toBe(1);
  });

  it('counts on while routes are shown, and asks for nothing while they are not', async () => {
    await t.start();
    await t.open('#/routes');
    await t.ask('/users/1');
    const cell = t.page.locator('#routes tbody td').first();
    await expect.poll(() => cell.innerText()).toBe('1');
    await t.ask('/users/1');
    await expect.poll(() => cell.innerText()).toBe('2');
    const left = t.page.waitForResponse('**/statements');
    await t.page.getByRole('tab', { name: 'Statements' }).click();
    await left;
    let asked = 0;
    t.page.on('request', (request) => (asked += request.url().endsWith('/routes') ? 1 : 0));
    // Each view reads once a second, so the other one would have read in between.
    for (let i = 0; i < 2; i++) await t.page.waitForResponse('**/statements');
    expect(asked).toBe(0);
  });

  it('lists statements, the most repeated first where wanted, and opens the requests of one', async () => {
    await t.start();
    await t.open('#/statements');
    for (const path of ['/users/1', '/orders/1', '/many/1']) await t.ask(path);
    await expect.poll(() => firstCells('#statements')).toHaveLength(3);
    await t.page.getByRole('button', { name: 'Most repeated' }).click();
    await expect.poll(async () => (await firstCells('#statements'))[0]).toContain('"products"');
    const row = t.page.locator('#statements tr', { hasText: '"products"' });
    expect(await row.innerText()).toContain('GET /many/:id');
    expect(await row.innerText()).toMatch(/browser-app\.ts:\d+/);
    await row.getByRole('button').click();
    await t.row('/many').waitFor();
    await expect.poll(() => t.page.locator('.rows .request:visible').count()).toBe(1);
  });

  it('finds rows of a table', async () => {
    await t.start();
    await t.open('#/statements');
    for (const path of ['/orders/1', '/many/1']) await t.ask(path);
    await expect.poll(() => firstCells('#statements')).toHaveLength(3);
    await t.page.getByLabel('Find in Statements').fill('insert');
    await expect.poll(() => firstCells('#statements')).toEqual([expect.stringContaining('INSERT INTO orders')]);
    await expect(t.page.locator('#statements').getByText('1 of 3').waitFor()).resolves.toBeUndefined();
  });

  it('shows what was created at start-up, until the first request', async () => {
    await t.start();
    t.container.resolve('IDatabasePool');
    await t.open('#/start-up');
    await expect.poll(() => firstCells('#start-up')).toEqual([expect.stringContaining('IDatabasePool')]);
    expect(await t.page.locator('#start-up').innerText()).toContain('what was created before that is not seen');
    expect(await t.page.locator('#start-up').innerText()).toContain('No request has arrived yet.');
    await t.ask('/users/1');
    await t.page.getByText('The first request arrived after').waitFor();
  });

  it('groups leaks by the line that opened them, with links to their requests', async () => {
    await t.start({ limitMs: 50 });
    await t.open('#/now');
    await t.ask('/forgetful/1');
    await t.ask('/forgetful/2');
    const leak = t.page.locator('.leak', { hasText: 'browser-app.ts' });
    await expect.poll(() => leak.locator('b').innerText()).toBe('2');
    await leak.getByRole('button', { name: 'request' }).first().click();
    await t.page.locator('.details .problem', { hasText: 'browser-app.ts' }).waitFor();
  });

  it('says of a leak older than the recording what would have recorded it', async () => {
    await t.start({ limitMs: 50 });
    t.container.createScope({ tags: ['job'] });
    await t.open('#/now');
    const said = t.page.locator('.oldest').getByText('The option always: true records from the start');
    await expect(said.waitFor()).resolves.toBeUndefined();
  });

  it('shows the last requests on a timeline, in words and in a table, and opens one', async () => {
    await t.start();
    await t.open('#/now');
    for (const path of ['/users/1', '/missing/1']) await t.ask(path);
    const canvas = t.page.locator('.timeline-canvas');
    await expect
      .poll(() => canvas.getAttribute('aria-label'))
      .toContain('2 requests in the last 30 seconds, 1 failed or aborted');
    await t.page.getByText('The longest of them in a table').click();
    await t.page.locator('.timeline').getByRole('button', { name: 'GET /missing/:id' }).click();
    await t.page.locator('.problem', { hasText: 'IMissing' }).waitFor();
  });

  it('opens a request by a click on its bar', async () => {
    await t.start();
    await t.open('#/now');
    const client = new AbortController();
    const left = fetch(`${t.app.url}/never/1`, { signal: client.signal }).catch(() => undefined);
    const canvas = t.page.locator('.timeline-canvas');
    await expect.poll(() => canvas.getAttribute('aria-label')).toContain('1 request in');
    await t.page.getByLabel('How many seconds').selectOption('10');
    await t.page.locator('.timeline').getByRole('button', { name: 'Pause' }).click();
    const { width } = (await canvas.boundingBox())!;
    await canvas.click({ position: { x: width - 2, y: 4 } });
    await t.page.locator('.details h2', { hasText: '/never' }).waitFor();
    client.abort();
    await left;
  });

  it('stops the timeline where it is paused', async () => {
    await t.start();
    await t.open('#/now');
    const canvas = t.page.locator('.timeline-canvas');
    await t.ask('/users/1');
    await expect.poll(() => canvas.getAttribute('aria-label')).toContain('1 request in');
    const pause = t.page.locator('.timeline').getByRole('button', { name: 'Pause' });
    await pause.click();
    await t.ask('/missing/2');
    // The page knows of it.
    await expect.poll(() => t.page.locator('#trouble-count').textContent()).toBe('1');
    // Drawn again, it still is the picture of before.
    await t.page.getByLabel('How many seconds').selectOption('60');
    await expect.poll(() => canvas.getAttribute('aria-label')).toContain('1 request in the last 60 seconds');
    await pause.click();
    await expect.poll(() => canvas.getAttribute('aria-label')).toContain('2 requests in');
  });
});
