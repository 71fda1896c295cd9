import { describe, expect, it } from 'vitest';
import { hasTag, Registration, scope, singleton } from '@ambit/container';
import { createApp } from '../support/app.js';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/test-kit/chromium';

const TOKEN = 'a token that is long enough';

describe.skipIf(chromiumUnwanted)('the page in Chromium', () => {
  const t = useBrowserApp();
  const trouble = (kind: string) => t.page.locator(`#now .trouble[data-kind="${kind}"]`);
  const make = (...needs: string[]) => Registration.fromFactory(() => ({}), needs as never[]).pipe(singleton());

  it('opens with what is wrong, by cause, keeps its order under the mouse, and leads to the step', async () => {
    await t.start();
    await t.open('');
    await t.page.getByText('No trouble since the recording began.').waitFor();
    for (let i = 0; i < 3; i++) await t.ask('/many/1');
    await trouble('N+1').getByText('3×').waitFor();
    expect(await t.page.title()).toMatch(/^\(\d troubles?\) Ambit inspector$/);
    expect(await trouble('N+1').innerText()).toMatch(/sent the statement 12 times\s+.*browser-app\.ts:\d+:\d+/s);
    await trouble('N+1').hover();
    await t.ask('/missing/1');
    await t.page.getByText(/\d came meanwhile/).waitFor();
    await t.page.mouse.move(0, 0);
    await expect.poll(() => t.page.locator('#now .trouble').first().getAttribute('data-kind')).toBe('failed service');
    await trouble('N+1').getByRole('link', { name: 'step by step' }).click();
    await t.page.locator('.row[data-at]', { hasText: 'products' }).waitFor();
    expect(t.page.url()).toMatch(/#\/requests\/[\da-f]{8}-3\?at=\w+$/);
    expect(t.complaints).toEqual([]);
    expect([...t.addresses]).toEqual([t.app.url]);
  });

  it('lists requests, filters them, and shows one as a waterfall with what its time was spent on', async () => {
    await t.start();
    await t.open('#/requests');
    for (const path of ['/users/1', '/orders/1', '/many/1']) await t.ask(path);
    await t.row('/many').waitFor();
    await t.page.getByLabel('Filter').fill('committed "get /orders/:id"');
    await expect.poll(() => t.page.locator('.request').count()).toBe(1);
    await t.page.getByLabel('Filter').fill('');
    await t.row('/orders').click();
    await t.page.locator('.row[data-kind=commit]').waitFor();
    await t.row('/many').click();
    await t.page.locator('.details h2', { hasText: '/many/:id' }).waitFor();
    expect(await t.page.locator('.row[data-kind=statement] .fold-steps').innerText()).toBe('12×');
    await t.page.locator('.fold-steps').click();
    await expect.poll(() => t.page.locator('.row[data-kind=statement]').count()).toBe(14);
    expect(await t.page.locator('.time-parts').innerText()).toMatch(/statements \d/);
    await t.page.getByRole('button', { name: 'Trouble only' }).click();
    await expect.poll(() => t.page.locator('.request').count()).toBe(1);
    await t.page.locator('.pane .details').focus();
    await t.page.keyboard.press('Escape');
    await t.page.getByText('Choose a request to see').waitFor();
    expect(t.complaints).toEqual([]);
  });

  it('draws the graph: who depends on whom, what is alive, and the path of a problem', async () => {
    t.container.addRegistration(
      make('IUsers').to('IGreeter'),
      make('IMissing')
        .pipe(scope(hasTag('request')))
        .to('ILost'),
    );
    await t.start();
    await t.open();
    await t.ask('/users/1');
    const details = t.page.getByRole('region', { name: 'Details' });
    await t.page.locator('.service.alive', { hasText: 'IDatabasePool' }).click();
    await details.getByText('singleton factory of [application]: wins').waitFor();
    await details.getByRole('button', { name: 'IUsers' }).waitFor();
    await details.getByText('1 created, 1 alive').waitFor();
    expect(await t.page.locator('.arrow.in').count()).toBe(1);
    await t.page.keyboard.press('Escape');
    await details.getByRole('button', { name: /^Captive dependency: 'IGreeter'/ }).click();
    await expect.poll(() => t.page.locator('.arrow.traced').count()).toBe(1);
    expect(await t.page.locator('.service.traced .key').allTextContents()).toEqual(['IGreeter', 'IUsers']);
    const search = t.page.getByRole('combobox', { name: 'Find a service' });
    await search.fill('IOrders');
    await details.getByRole('heading', { name: 'IOrders' }).waitFor();
    const box = t.page.locator('[data-id="application"] > [data-id="application > request"]');
    await expect(box.locator('[data-id$="> transaction"] .key').allTextContents()).resolves.toContain('IOrders');
  });

  it('counts routes and statements, sorts them, and leads to the requests of a route', async () => {
    await t.start();
    await t.open('#/totals');
    for (const path of ['/users/1', '/users/2', '/missing/1', '/many/1']) await t.ask(path);
    const cells = () => t.page.locator('tbody th').allInnerTexts();
    await expect.poll(cells).toHaveLength(3);
    await t.page.getByRole('columnheader', { name: 'requests' }).getByRole('button').click();
    await t.page.mouse.move(0, 0);
    await expect.poll(async () => (await cells())[0]).toBe('GET /users/:id');
    await t.page.getByRole('button', { name: 'Statements' }).click();
    await t.page.getByLabel('Find in Statements').fill('products');
    const row = t.page.locator('tbody tr', { hasText: '"products"' });
    await expect.poll(() => row.innerText()).toMatch(/12[^]*browser-app\.ts:\d+/);
    await row.getByRole('link', { name: 'GET /many/:id' }).click();
    await t.row('/many').waitFor();
    await expect.poll(() => t.page.locator('.request').count()).toBe(1);
  });

  it('asks for the token, opens with it, and is dark where the system is or the user chooses so', async () => {
    await t.start({ token: TOKEN });
    await t.page.emulateMedia({ colorScheme: 'dark' });
    await t.page.goto(`${t.app.url}/inspector`);
    await t.page.getByLabel('Token').fill('a token that is wrong');
    await t.page.getByRole('button', { name: 'Open' }).click();
    await t.page.getByRole('alert').waitFor();
    await t.page.getByLabel('Token').fill(TOKEN);
    await t.page.keyboard.press('Enter');
    await t.page.locator('[data-state=live]').waitFor();
    expect(await t.page.evaluate('document.cookie')).toBe('');
    const background = () => t.page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(await background()).toBe('rgb(14, 17, 22)');
    await t.page.getByRole('button', { name: 'Switch between light and dark' }).click();
    await expect.poll(background).toBe('rgb(245, 246, 248)');
  });

  it('says when the server is silent, and survives its restart with what was wrong before', async () => {
    await t.start();
    await t.open('');
    await t.ask('/many/1');
    await trouble('N+1').waitFor();
    const { port } = t.app;
    await t.app.close();
    await t.page.locator('[data-state=reconnecting]').waitFor();
    t.container = createApp().addRegistration(make().to('INew'));
    await t.start({}, port);
    await t.page.getByText('No trouble since').waitFor();
    await t.page.getByText('Before the last restart: 1').click();
    await trouble('N+1').waitFor();
    await t.page.getByRole('link', { name: 'Graph' }).click();
    await t.page.locator('.service', { hasText: 'INew' }).waitFor();
    const stop = performance.now() + 4000;
    while (performance.now() < stop);
    await expect(t.page.locator('[data-state=live]').waitFor()).resolves.toBeUndefined();
    expect(await t.silences()).toBe(1);
  });

  it('has one stream while it is visible, and none while it is hidden', async () => {
    await t.start();
    await t.open('#/requests');
    expect(t.app.streams()).toBe(1);
    await t.hide(t.page, true);
    await expect.poll(() => t.app.streams()).toBe(0);
    await t.ask('/users/1');
    await t.hide(t.page, false);
    await t.row('/users').waitFor();
    expect(t.app.streams()).toBe(1);
  });
});
