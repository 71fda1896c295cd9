import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

describe.skipIf(chromiumUnwanted)('what is wrong now, on the page in Chromium', () => {
  const t = useBrowserApp();
  const trouble = (kind: string) => t.page.locator(`#now .trouble[data-kind="${kind}"]`);
  const head = () => t.page.getByRole('button', { name: /troubles?$/ });

  it('is what the page opens with: nothing, in one quiet line, above the newest requests', async () => {
    await t.start();
    await t.open('');
    await t.page.getByText('No trouble since the recording began.').waitFor();
    await t.ask('/users/1');
    await t.ask('/orders/1');
    await t.row('/orders').waitFor();
    expect(await head().innerText()).toBe('no trouble');
    const red = `[...document.querySelectorAll('body *')].filter((one) => {
      const { color, backgroundColor } = getComputedStyle(one);
      return one.checkVisibility() && (color === 'rgb(185, 31, 44)' || backgroundColor === 'rgb(253, 227, 229)');
    }).map(({ outerHTML }) => outerHTML)`;
    expect(await t.page.evaluate(red)).toEqual([]);
  });

  it('is grouped by cause, with its line, how often, where and what to do, and leads to the step', async () => {
    await t.start();
    await t.open('');
    for (let i = 0; i < 3; i++) await t.ask('/many/1');
    const many = trouble('N+1');
    await many.getByText('3×').waitFor();
    expect(await t.page.title()).toBe('(1 trouble) Ambit inspector');
    expect(await many.innerText()).toMatch(/One request sent the statement 12 times\s+.*browser-app\.ts:\d+:\d+/s);
    expect(await many.innerText()).toContain('on GET /many/:id');
    expect(await many.locator('.fix').innerText()).toContain('Read all rows with one statement');
    await many.locator('.open').click();
    await t.page.locator('.row[data-at]', { hasText: 'products' }).waitFor();
    expect(t.page.url()).toMatch(/#\/requests\/[\da-f]{8}-3\?at=\w+$/);
    await head().click();
    await expect(many.waitFor()).resolves.toBeUndefined();
  });

  it('stays in its order under the mouse', async () => {
    await t.start();
    await t.open('');
    await t.ask('/many/1');
    await trouble('N+1').hover();
    await t.ask('/missing/1');
    await t.page.getByText('1 came meanwhile').waitFor();
    expect(await t.page.locator('#now .card.trouble').count()).toBe(1);
    await t.page.mouse.move(0, 0);
    await trouble('failed service').waitFor();
    expect(await t.page.locator('#now .card.trouble').first().getAttribute('data-kind')).toBe('failed service');
  });

  it('stays on the page when the application starts again, as what was before', async () => {
    await t.start();
    await t.open('');
    await t.ask('/many/1');
    await trouble('N+1').waitFor();
    const { port } = t.app;
    await t.app.close();
    t.renew();
    await t.start({}, port);
    await t.page.getByText('No trouble since').waitFor();
    await t.page.getByText('Before the last restart: 1').click();
    expect(await trouble('N+1').locator('.cause').innerText()).toContain('12 times');
    expect(await trouble('N+1').locator('.open').count()).toBe(0);
  });

  it('opens a line of code in the editor that the user has chosen, and only then', async () => {
    await t.start();
    await t.open('');
    await t.ask('/many/1');
    await trouble('N+1').waitFor();
    expect(await t.page.locator('.place a').count()).toBe(0);
    await t.page.getByText('Open lines of code in an editor').click();
    await t.page.getByLabel('Editor').selectOption('vscode');
    await t.page.getByLabel('Folder of the project').fill('/home/me/shop');
    await t.page.keyboard.press('Enter');
    const link = trouble('N+1').locator('.place a');
    await expect
      .poll(() => link.getAttribute('href'))
      .toMatch(/^vscode:\/\/file\/home\/me\/shop\/.*browser-app\.ts:\d+:\d+$/);
  });

  it('is copied as a line', async () => {
    await t.start();
    await t.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await t.open('');
    await t.ask('/many/1');
    await trouble('N+1')
      .getByRole('button', { name: /^Copy .*browser-app/ })
      .click();
    await t.page.getByText('copied').waitFor();
    expect(await t.page.evaluate('navigator.clipboard.readText()')).toMatch(/browser-app\.ts:\d+:\d+$/);
  });

  it('says which scopes leak, and shows the request at the scope', async () => {
    await t.start({ limitMs: 100 });
    await t.open('');
    await t.ask('/forgetful/1');
    const leak = trouble('leak');
    await leak.locator('code', { hasText: 'browser-app.ts' }).waitFor();
    await leak.locator('.open').click();
    await t.page.locator('.request-view .trouble', { hasText: 'browser-app.ts' }).waitFor();
    await expect(t.page.locator('.row.unclosed[data-at]', { hasText: 'job scope' }).waitFor()).resolves.toBeUndefined();
  });

  it('shows rates by route, connections, transactions and open scopes', async () => {
    await t.start();
    await t.open('');
    const beside = t.page.getByRole('complementary', { name: 'At this moment' });
    await beside.getByText('Transactions: 0 open, none has completed').waitFor();
    await t.ask('/orders/1');
    await t.ask('/sold-out/1');
    await beside.getByText('Transactions: 0 open, 2 completed: 1 committed, 1 rolled back').waitFor();
    await beside.locator('p', { hasText: /^request\s*\d+ open, \d+\/s opened/ }).waitFor();
    // The first counts are those that the others are compared with.
    const line = beside.locator('.rates li', { hasText: 'GET /users/:id' });
    await expect
      .poll(async () => {
        await t.ask('/users/1');
        return line.count();
      })
      .toBe(1);
  });
});
