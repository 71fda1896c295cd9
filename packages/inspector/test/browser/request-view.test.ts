import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

describe.skipIf(chromiumUnwanted)('a request on the page in Chromium', () => {
  const t = useBrowserApp();

  const open = async (path: string): Promise<void> => {
    await t.start();
    await t.open('#/requests');
    await t.ask(`${path}/1`);
    await t.row(path).click();
    await t.page.locator('.waterfall').waitFor();
  };
  const group = (text: string): Locator => t.page.locator('.statement-group', { hasText: text });
  it('shows its statements in groups, with their number, N+1, and their lines of code as steps', async () => {
    await open('/many');
    await expect
      .poll(() => t.page.locator('.statements h3').innerText())
      .toMatch(/^13 statements, 12 alike, 6\.5 ms of /);
    const products = group('products');
    expect(await products.locator('.times').innerText()).toContain('12×');
    expect(await products.locator('.chips').innerText()).toMatch(/N\+1.*outside/s);
    expect(await group('SELECT ?').locator('.chips').innerText()).not.toContain('N+1');
    expect(await t.page.locator('.row[data-kind=statement] .where').first().innerText()).toMatch(
      /browser-app\.ts:\d+:\d+/,
    );
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
    expect(await t.page.locator('.request-view .trouble').innerText()).toContain(
      'IMissing could not be created: ContainerError AMBIT_NOT_REGISTERED',
    );
    const row = t.page.locator('.row[data-kind=failed][data-mood=bad]');
    expect(await row.innerText()).toContain('IMissing');
  });

  it('shows the cause of a rollback in full', async () => {
    await open('/sold-out');
    expect(await t.page.locator('.outcome').innerText()).toBe(
      'Its last transaction was rolled back: nothing of that one is stored.',
    );
    const label = t.page.locator('.row[data-kind=rollback] .label');
    expect(await label.getAttribute('title')).toBe('ROLLBACK TypeError E_SOLD_OUT');
    await t.page.setViewportSize({ width: 320, height: 600 });
    const isCut = `(({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
      scrollWidth > clientWidth || scrollHeight > clientHeight + 1)(document.querySelector('.row[data-kind=rollback] .label'))`;
    await expect.poll(() => t.page.evaluate('innerWidth')).toBe(320);
    expect(await t.page.evaluate(isCut)).toBe(false);
  });

  it.for([
    [
      { doing: 'it waited 700 ms for bank.example at bank.ts:1:1', where: 'bank.ts:1:1' },
      'meanwhile POST /pay had a transaction open, which was open for 900 ms: it waited 700 ms for bank.example at bank.ts:1:1',
    ],
    [{ where: 'pay.ts:2:3' }, 'meanwhile POST /pay had a transaction open, which was open for 900 ms, at pay.ts:2:3'],
    [{ among: 12 }, 'meanwhile 12 transactions had one, the longest for 900 ms (POST /pay)'],
  ] as const)('says in one quiet line what a step waited for: %j', async ([held, line]) => {
    await t.start();
    const heldBy = { name: 'POST /pay', milliseconds: 900, ended: false, ...held };
    await t.page.route(/\/requests\/\d+$/, async (route) => {
      const response = await route.fetch();
      const request = (await response.json()) as { steps: { kind: string }[] };
      const steps = request.steps.map((step) => (step.kind === 'connection' ? { ...step, took: 300, heldBy } : step));
      await route.fulfill({ response, json: { ...request, steps } });
    });
    await t.open('#/requests');
    await t.ask('/orders/1');
    await t.row('/orders').click();
    const said = t.page.locator('.row[data-kind=connection] .label .hint');
    expect(await said.textContent()).toBe(line);
  });

  it('tells what its time was spent on', async () => {
    await open('/many');
    await expect
      .poll(() => t.page.locator('.time-parts').innerText())
      .toMatch(/statements\s+6\.5 ms|not accounted for/);
  });

  it('shows a statement of many columns in two lines, and all of it on demand', async () => {
    await open('/wide');
    const statement = t.page.locator('.statement-group .sql');
    const height = async (): Promise<number> => (await statement.locator('code').boundingBox())?.height ?? 0;
    const lines = await height();
    expect(lines).toBeLessThan(45);
    await statement.getByRole('button', { name: 'all of it' }).click();
    await expect.poll(height).toBeGreaterThan(lines * 2);
  });

  it('is JSON at an address of its own', async () => {
    await open('/sold-out');
    const href = await t.page.getByRole('link', { name: 'JSON' }).getAttribute('href');
    const read = (await (await t.ask(`/inspector/${href}`)).json()) as { route: string };
    expect(read.route).toBe('/sold-out/:id');
  });
});
