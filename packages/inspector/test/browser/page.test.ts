import type { Request } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { Registration, singleton } from '@ambit/container';
import { createApp } from '../support/app.js';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

const TOKEN = 'a token that is long enough';

describe.skipIf(chromiumUnwanted)('the page in Chromium', () => {
  const t = useBrowserApp();

  it('shows the graph of the application, a box in a box for each kind of scope', async () => {
    await t.start();
    await t.open();
    const inBox = (box: string) => t.page.locator(`.box[data-id="${box}"] > .group .key`).allTextContents();
    expect((await inBox('application')).toSorted()).toEqual(['IDatabasePool', 'ISecret']);
    expect((await inBox('application > request')).toSorted()).toEqual(['IRequestSignal', 'IUsers']);
    expect((await inBox('application > request > transaction')).toSorted()).toEqual(['IConnection', 'IOrders']);
    expect(await t.page.locator('.arrow').count()).toBe(3);
    expect([t.complaints, [...t.addresses]]).toEqual([[], [t.app.url]]);
  });

  it('loads less than 60 kB, compressed, in less than 10 requests', async () => {
    await t.start();
    const sent: string[] = [];
    const loaded: Request[] = [];
    t.context.on('request', (request) => sent.push(request.url()));
    t.context.on('requestfinished', (request) => loaded.push(request));
    await t.open();
    await t.page.locator('.service', { hasText: 'IDatabasePool' }).waitFor();
    const finished = () => loaded.map((request) => new URL(request.url()).pathname);
    await expect.poll(finished).toEqual(expect.arrayContaining(['/inspector/assets/page.js', '/inspector/graph']));
    const sizes = await Promise.all(loaded.map((request) => request.sizes()));
    const bytes = sizes.reduce((sum, { responseBodySize }) => sum + responseBodySize, 0);
    expect(bytes).toBeLessThan(60_000);
    expect(sent.length).toBeLessThan(10);
  });

  it('shows for a chosen service why it was chosen, which services use it, and how many instances are alive', async () => {
    await t.start();
    await t.open();
    await t.ask('/users/1');
    await t.page.locator('.service', { hasText: 'IDatabasePool' }).click();
    const details = t.page.locator('#details');
    await details.getByText('singleton factory of [application]: wins').waitFor();
    await details.getByRole('button', { name: 'IUsers' }).waitFor();
    await details.locator('.numbers', { hasText: /alive\s*1/ }).waitFor();
    await t.page.keyboard.press('Escape');
    await expect(details.getByText('How to read this').waitFor()).resolves.toBeUndefined();
  });

  it('replays a request: boxes open, services light up, boxes close', async () => {
    await t.start();
    await t.open();
    const request = '.box[data-id="application > request"]';
    const transaction = '.box[data-id="application > request > transaction"]';
    const phases = [`${request}.open`, `${transaction}.open`, '.service.lit[title=IOrders]'];
    const appeared = await t.watchFor(...phases);
    expect(await t.page.locator(request).getAttribute('class')).not.toContain('open');
    await t.ask('/orders/1');
    await t.page.locator('.caption', { hasText: '/orders/:id' }).waitFor();
    await t.page.getByText('Its scopes are disposed').waitFor();
    expect(await appeared()).toEqual(phases);
    expect(await t.page.locator('.box.open').count()).toBe(1);
  });

  it('asks for the token, and opens with it', async () => {
    await t.start({ token: TOKEN });
    await t.page.goto(`${t.app.url}/inspector`);
    expect(await t.page.getByRole('alert').count()).toBe(0);
    await t.page.getByLabel('Token').fill('a token that is wrong');
    await t.page.getByRole('button', { name: 'Open' }).click();
    await t.page.getByRole('alert').waitFor();
    await t.page.getByLabel('Token').fill(TOKEN);
    await t.page.keyboard.press('Enter');
    await t.page.locator('[data-state=live]').waitFor();
    await t.page.getByText('No trouble since').waitFor();
    expect(await t.page.evaluate('document.cookie')).toBe('');
  });

  it('survives a restart of the server, and shows what is new', async () => {
    await t.start();
    await t.open();
    await t.ask('/users/1');
    await t.page.locator('.service', { hasText: 'IDatabasePool' }).waitFor();
    const { port } = t.app;
    await t.app.close();
    await t.page.locator('[data-state=reconnecting]').waitFor();
    t.container = createApp().addRegistration(
      Registration.fromFactory(() => ({}))
        .pipe(singleton())
        .to('INew'),
    );
    await t.start({}, port);
    await t.page.locator('.service', { hasText: 'INew' }).waitFor();
    await t.page.locator('[data-state=live]').waitFor();
    await t.page.getByRole('tab', { name: 'Requests' }).click();
    await expect.poll(() => t.page.locator('.request').count()).toBe(0);
    await t.ask('/users/1');
    await t.row('/users').waitFor();
  });

  it('can be used with the keyboard alone', async () => {
    await t.start();
    await t.open('');
    await t.page.keyboard.press('Tab');
    await t.page.keyboard.press('ArrowRight');
    await t.page.getByRole('tab', { name: 'Requests', selected: true }).waitFor();
    await t.ask('/users/1');
    await t.row('/users').waitFor();
    await t.ask('/orders/1');
    await t.row('/orders').focus();
    await t.page.keyboard.press('Enter');
    await t.page.locator('.row[data-kind=commit]').waitFor();
    await t.page.keyboard.press('ArrowDown');
    await t.page.locator('.details h2', { hasText: '/users/:id' }).waitFor();
    await t.page.locator('.pane .details').focus();
    await t.page.keyboard.press('Escape');
    await t.page.getByText('Choose a request to see').waitFor();
    await t.page.locator('[role=tab][aria-selected=true]').focus();
    await t.page.keyboard.press('ArrowRight');
    await t.page.locator('.service[tabindex="0"]').focus();
    await t.page.keyboard.press('ArrowRight');
    await t.page.keyboard.press('Enter');
    await expect(t.page.locator('#details', { hasText: 'Why this one' }).waitFor()).resolves.toBeUndefined();
  });

  it('is dark when the system is, or when the user chooses so', async () => {
    await t.start();
    await t.page.emulateMedia({ colorScheme: 'dark' });
    await t.open();
    const background = () => t.page.evaluate('getComputedStyle(document.body).backgroundColor');
    await expect.poll(background).toBe('rgb(14, 17, 22)');
    await t.page.getByRole('button', { name: 'Switch between light and dark' }).click();
    await expect.poll(background).toBe('rgb(245, 246, 248)');
    await t.open();
    await expect.poll(background).toBe('rgb(245, 246, 248)');
  });

  it('does not shift its layout with 200 services and more requests than it can show', async () => {
    const many = Array.from({ length: 200 }, (_, i) =>
      Registration.fromFactory(() => ({}))
        .pipe(singleton())
        .to(`IServiceWithARatherLongName${i}`),
    );
    t.container.addRegistration(...many);
    await t.start({ samplesPerSecond: 20 });
    await t.open('#/requests');
    const jumped = await t.watchJumps();
    const listed = () => t.page.locator('.request').count();
    const askMany = async () => {
      await Promise.all(Array.from({ length: 50 }, async () => (await t.ask('/users/1')).text()));
      return (await t.page.getByText('without trouble 20 a second are listed').isVisible()) && (await listed()) > 40;
    };
    await expect.poll(askMany).toBe(true);
    expect(await listed()).toBeLessThanOrEqual(200);
    expect(await jumped()).toEqual([]);
    await t.page.getByRole('tab', { name: 'Graph' }).click();
    await t.page.locator('.service').nth(205).waitFor();
  });

  it.for(['Now', 'Requests', 'Graph', 'Totals'])(
    'does not shift its head when the numbers of "%s" grow',
    async (name) => {
      await t.start();
      await t.open();
      await t.page.getByRole('tab', { name }).click();
      const jumped = await t.watchJumps();
      await t.page.evaluate(`for (const number of document.querySelectorAll('.rate b')) number.textContent = '99,999'`);
      await t.page.evaluate(
        `for (const troubles of document.querySelectorAll('.troubles')) troubles.textContent = '99 troubles'`,
      );
      expect(await jumped()).toEqual([]);
    },
  );
});
