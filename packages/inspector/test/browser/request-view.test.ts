import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '../support/chromium.js';

describe.skipIf(chromiumUnwanted)('a request on the page in Chromium', () => {
  const t = useBrowserApp();

  const open = async (path: string): Promise<void> => {
    await t.start();
    await t.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await t.open('#/requests');
    await t.ask(`${path}/1`);
    await t.row(path).click();
    await t.page.locator('.waterfall').waitFor();
  };
  const group = (text: string): Locator => t.page.locator('.statement-group', { hasText: text });
  const exported = async (name: string): Promise<string> => {
    await t.page.locator('#requests').getByText('Export').click();
    await t.page.getByRole('button', { name }).click();
    await t.page.getByRole('button', { name: 'copied' }).waitFor();
    return t.page.evaluate('navigator.clipboard.readText()');
  };

  it('shows its statements in groups, with their number, N+1 and the line of code', async () => {
    await open('/many');
    await expect
      .poll(() => t.page.locator('.statements h3').innerText())
      .toMatch(/^13 statements, 12 alike, 6\.5 ms of /);
    const products = group('products');
    expect(await products.locator('.times').innerText()).toContain('12×');
    expect(await products.locator('.marks').innerText()).toMatch(/N\+1.*outside/s);
    expect(await products.locator('li').count()).toBe(0);
    await products.locator('summary').click();
    await expect.poll(() => products.locator('li:not(.whole)').count()).toBe(12);
    expect(await products.locator('.place').first().innerText()).toMatch(/browser-app\.ts:\d+:\d+/);
    expect(await group('SELECT ?').locator('.marks').innerText()).not.toContain('N+1');
  });

  it('shows statements that are alike as one row, and each of them on demand', async () => {
    await open('/many');
    const visible = t.page.locator('.row[data-kind=statement]:visible');
    await expect.poll(() => visible.count()).toBe(2);
    await t.page.getByRole('button', { name: '12×' }).click();
    await expect.poll(() => visible.count()).toBe(14);
  });

  it('shows what failed to be created, on top and in its place', async () => {
    await open('/missing');
    expect(await t.page.locator('.problem').innerText()).toContain(
      'IMissing could not be created: ContainerError AMBIT_NOT_REGISTERED',
    );
    const row = t.page.locator('.row[data-kind=failed][data-mood=bad]');
    expect(await row.innerText()).toContain('IMissing');
  });

  it('shows the cause of a rollback in full', async () => {
    await open('/sold-out');
    expect(await t.page.locator('.problem').innerText()).toContain('Rolled back because of TypeError E_SOLD_OUT');
    const label = t.page.locator('.row[data-kind=rollback] .label');
    expect(await label.getAttribute('title')).toBe('ROLLBACK TypeError E_SOLD_OUT');
    await t.page.setViewportSize({ width: 320, height: 600 });
    const isCut = `(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
      scrollWidth > clientWidth || scrollHeight > clientHeight + 1)(document.querySelector('.row[data-kind=rollback] .label'))`;
    await expect.poll(() => t.page.evaluate('innerWidth')).toBe(320);
    expect(await t.page.evaluate(isCut)).toBe(false);
  });

  it('tells what its time was spent on', async () => {
    await open('/many');
    await expect
      .poll(() => t.page.locator('.time-parts').innerText())
      .toMatch(/statements\s+6\.5 ms|not accounted for/);
  });

  it('opens a line of code in the editor that the user has chosen, and only then', async () => {
    await open('/many');
    await group('products').locator('summary').click();
    await t.page.locator('.place').first().waitFor();
    expect(await t.page.locator('.place a').count()).toBe(0);
    await t.page.getByText('Open lines of code in an editor').click();
    await t.page.getByLabel('Editor').selectOption('vscode');
    await t.page.getByLabel('Folder of the project').fill('/home/me/shop');
    await t.page.keyboard.press('Enter');
    const link = t.page.locator('.place a').first();
    await expect
      .poll(() => link.getAttribute('href'))
      .toMatch(/^vscode:\/\/file\/home\/me\/shop\/.*browser-app\.ts:\d+:\d+$/);
    // The group that was open still is.
    await expect.poll(() => group('products').locator('li:not(.whole)').count()).toBe(12);
  });

  it('is copied as text and as curl, without values', async () => {
    await open('/sold-out');
    expect(await exported('Copy as text')).toContain('rollback TypeError E_SOLD_OUT');
    await t.page.reload();
    await t.page.locator('.waterfall').waitFor();
    expect(await exported('Copy as curl')).toBe(`curl '${t.app.url}/sold-out/:id'`);
  });

  it('is downloaded, and imported again', async () => {
    await open('/sold-out');
    await t.page.locator('#requests').getByText('Export').click();
    const waiting = t.page.waitForEvent('download');
    await t.page.getByRole('button', { name: 'Download JSON' }).click();
    const path = await (await waiting).path();
    const content = await readFile(path, 'utf8');
    await t.page.keyboard.press('Escape');
    await t.page.goto(`${t.app.url}/inspector/#/requests`);
    await t.page.reload();
    const input = t.page.getByLabel('File');
    const broken = join(tmpdir(), `inspector-import-${process.pid}.json`);
    await writeFile(broken, '{}');
    await input.setInputFiles(broken);
    await t.page.getByText('not a request of the inspector').waitFor();
    await writeFile(broken, content);
    await input.setInputFiles(broken);
    await t.page.getByText('Imported from a file.').waitFor();
    expect(await t.page.locator('.problem').innerText()).toContain('E_SOLD_OUT');
    expect(t.complaints).toEqual([]);
  });

  it('is compared with another one of its route', async () => {
    await t.start();
    await t.open('#/requests');
    await t.ask('/many/1');
    await t.ask('/many/2');
    await expect.poll(() => t.page.locator('.request', { hasText: '200' }).count()).toBe(2);
    await t.row('/many').click();
    await t.page.locator('.waterfall').waitFor();
    await t.page.getByLabel('Compare with').focus();
    await t.page.getByLabel('Compare with').selectOption({ index: 1 });
    const compared = t.page.getByRole('region', { name: 'Comparison' });
    const products = compared.locator('tr', { hasText: 'products' });
    expect(await products.innerText()).toMatch(/12×\s+12×\s+same/);
    await compared.getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => compared.count()).toBe(0);
  });
});
