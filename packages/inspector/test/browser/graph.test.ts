import { describe, expect, it } from 'vitest';
import { lifetimes, Registration, singleton } from '@ambit/container';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '../support/chromium.js';

describe.skipIf(chromiumUnwanted)('the graph in Chromium', () => {
  const t = useBrowserApp();
  const service = (key: string) => t.page.locator('.service', { hasText: key }).first();
  const keys = async () => (await t.page.locator('.service .key').allTextContents()).toSorted();
  const place = async (key: string) => (await service(key).boundingBox())!;

  const withFeatures = () => {
    const { feature, make, build } = lifetimes('application', 'request', 'transaction');
    const made = () => ({});
    const billing = feature('billing', {
      IInvoices: make('request', (rates: object) => ({ rates }), ['IRates']),
      IRates: make('application', made),
    });
    const mail = feature('mail', { IMailer: make('application', made) });
    t.container.addRegistration(...build(billing, mail).registrations);
  };

  const withMany = (services: number) =>
    t.container.addRegistration(
      ...Array.from({ length: services }, (_, i) =>
        Registration.fromFactory((pool) => ({ pool }), ['IDatabasePool'])
          .pipe(singleton())
          .to(`IMany${i}`),
      ),
    );

  it('finds a service by its key: marks what matches, and Enter goes to the next', async () => {
    withMany(150);
    await t.start();
    await t.open();
    await service('IMany149').waitFor();
    await t.page.keyboard.press('/');
    await t.page.keyboard.type('many14');
    await t.page.locator('.found', { hasText: '11 found' }).waitFor();
    expect(await t.page.locator('.service.match').count()).toBe(11);
    await t.page.keyboard.press('Enter');
    await t.page.keyboard.press('Enter');
    await t.page.locator('.found', { hasText: '2 of 11' }).waitFor();
    await t.page.locator('#details h2', { hasText: 'IMany140' }).waitFor();
    const seen = (await t.page.locator('#canvas').boundingBox())!;
    const { x, y } = await place('IMany140');
    expect(x > seen.x && x < seen.x + seen.width && y > seen.y && y < seen.y + seen.height).toBe(true);
    expect(t.complaints).toEqual([]);
  });

  it('shows only what is near a service, and all of it again', async () => {
    await t.start();
    await t.open();
    await service('IUsers').click();
    await t.page.locator('.depths').getByRole('button', { name: '1', exact: true }).click();
    await expect.poll(keys).toEqual(['IDatabasePool', 'ISecret', 'IUsers']);
    await service('IDatabasePool').click();
    await t.page.locator('#details h2', { hasText: 'IDatabasePool' }).waitFor();
    expect(await keys()).toEqual(['IDatabasePool', 'ISecret', 'IUsers']);
    await t.page.getByRole('button', { name: 'Only around IUsers' }).click();
    await expect.poll(async () => (await keys()).length).toBe(6);
  });

  it('shows a service that is hidden when a link or the search leads to it', async () => {
    await t.start();
    await t.open();
    await service('IOrders').click();
    await t.page.locator('.depths').getByRole('button', { name: '1', exact: true }).click();
    await t.page.getByRole('searchbox', { name: 'Find a service' }).fill('secret');
    await t.page.keyboard.press('Enter');
    await expect(service('ISecret').and(t.page.locator('[aria-pressed=true]')).waitFor()).resolves.toBeUndefined();
  });

  it('groups services by feature, collapses a feature or a box, and shows one feature alone', async () => {
    withFeatures();
    await t.start();
    await t.open();
    const billing = t.page.locator('[data-box="application"] > [aria-label="feature billing"]');
    expect(await billing.locator('.key').allTextContents()).toEqual(['IRates']);
    await billing.getByRole('button', { name: 'billing' }).click();
    await t.page.locator('.service.folded', { hasText: 'billing' }).click();
    await billing.getByText('IRates').waitFor();
    await t.page.getByRole('button', { name: 'Collapse features' }).click();
    await expect.poll(() => t.page.locator('.service.folded').count()).toBe(3);
    await t.page.getByRole('button', { name: 'Collapse features' }).click();
    await t.page.getByLabel('Feature', { exact: true }).selectOption('billing');
    await expect.poll(keys).toEqual(['IInvoices', 'IRates']);
    await t.page.getByLabel('Feature', { exact: true }).selectOption('All features');
    await t.page.getByRole('button', { name: 'request', exact: true }).click();
    await t.page.locator('[data-box="application > request"]', { hasText: '5 services' }).waitFor();
    await expect.poll(keys).toEqual(['IDatabasePool', 'IMailer', 'IRates', 'ISecret']);
  });

  it('begins with collapsed features when there are many services', async () => {
    withFeatures();
    withMany(130);
    await t.start();
    await t.open();
    await service('IMany0').waitFor();
    expect(await t.page.locator('.service.folded .key').allTextContents()).toEqual(
      expect.arrayContaining(['billing', 'mail']),
    );
  });

  it('zooms around the pointer, by keys and by buttons, and is dragged by its background', async () => {
    withMany(150);
    await t.start();
    await t.open();
    const scale = t.page.locator('.scale');
    const scales = async (text: string) => {
      await expect.poll(() => scale.textContent()).toBe(text);
    };
    await t.page.keyboard.press('0');
    await scales('100 %');
    await t.page.locator('#canvas').evaluate('(canvas) => canvas.scrollTo(400, 400)');
    const before = await service('IMany30').boundingBox();
    const canvas = (await t.page.locator('#canvas').boundingBox())!;
    await t.page.mouse.move(canvas.x + 300, canvas.y + 200);
    const under = () =>
      t.page.evaluate(`(() => { const at = document.querySelector('.content').getBoundingClientRect();
        const scale = at.width / document.querySelector('.content').offsetWidth;
        return [(${canvas.x + 300} - at.x) / scale, (${canvas.y + 200} - at.y) / scale].map(Math.round); })()`);
    const point = await under();
    await t.page.keyboard.down('Control');
    await t.page.mouse.wheel(0, -200);
    await t.page.keyboard.up('Control');
    await expect.poll(() => scale.textContent()).not.toBe('100 %');
    expect((await service('IMany30').boundingBox())!.width).toBeGreaterThan(before!.width);
    expect(await under()).toEqual(point);
    await t.page.keyboard.press('0');
    await scales('100 %');
    await t.page.keyboard.press('-');
    await scales('83 %');
    await t.page.getByRole('button', { name: 'Fit into the window' }).click();
    const fits = async () => {
      const all = (await t.page.locator('.content').boundingBox())!;
      return all.x >= canvas.x && all.y >= canvas.y && all.height <= canvas.height;
    };
    await expect.poll(fits).toBe(true);
    await t.page.keyboard.press('0');
    await scales('100 %');
    await service('IMany30').scrollIntoViewIfNeeded();
    const at = await place('IMany30');
    await t.page.mouse.move(at.x - 5, at.y - 5);
    await t.page.mouse.down();
    await t.page.mouse.move(at.x - 35, at.y - 25);
    await t.page.mouse.up();
    const moved = async () => {
      const { x, y } = await place('IMany30');
      return [x - at.x, y - at.y].map(Math.round);
    };
    await expect.poll(moved).toEqual([-30, -20]);
  });

  it('draws no more arrows than somebody can follow: then only those of the chosen service', async () => {
    withMany(210);
    await t.start();
    await t.open();
    await t.page.locator('.note', { hasText: '213 arrows are too many to read' }).waitFor();
    expect(await t.page.locator('.arrow').count()).toBe(0);
    await service('IUsers').click();
    await expect.poll(() => t.page.locator('.arrow.out').count()).toBe(2);
  });

  it('is copied as Mermaid and saved as SVG, as far as it is shown', async () => {
    await t.start();
    await t.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await t.open();
    await service('IUsers').click();
    await t.page.locator('.depths').getByRole('button', { name: '1', exact: true }).click();
    await t.page.locator('#graph').getByText('Export').click();
    await t.page.getByRole('button', { name: 'Copy as Mermaid' }).click();
    await t.page.getByText('Copied').waitFor();
    const copied = await t.page.evaluate('navigator.clipboard.readText()');
    expect(copied).toContain('["IUsers"]');
    expect(copied).not.toContain('IOrders');
    await t.page.locator('#graph').getByText('Export').click();
    const download = t.page.waitForEvent('download');
    await t.page.getByRole('button', { name: 'Save as SVG' }).click();
    expect((await download).suggestedFilename()).toBe('graph.svg');
    expect(t.complaints).toEqual([]);
  });

  it('highlights by tap, and names stay readable beside a highlighted service', async () => {
    await t.start();
    const context = await t.context.browser()!.newContext({ hasTouch: true, viewport: { width: 390, height: 844 } });
    t.page = await context.newPage();
    await t.open();
    await service('ISecret').tap();
    await t.page.locator('.arrow.in').waitFor();
    await t.page.locator('.service.near', { hasText: 'IUsers' }).waitFor({ state: 'attached' });
    await t.page.evaluate(TRANSITIONS);
    expect(await t.page.evaluate(CONTRAST)).toBeGreaterThanOrEqual(4.5);
    await t.page.locator('#details').getByRole('button', { name: 'Close' }).tap();
    await expect.poll(() => t.page.locator('.arrow.in').count()).toBe(0);
    await context.close();
  });

  it.for([
    [1024, 768],
    [390, 844],
    [320, 180],
  ])('has room for the graph and its tools at %j', async ([width, height]) => {
    await t.start();
    await t.page.setViewportSize({ width: width!, height: height! });
    await t.open();
    await service('IUsers').click();
    await t.page.locator('#details', { hasText: 'Why this one' }).waitFor({ state: 'attached' });
    const inside = await t.page.evaluate(`[...document.querySelectorAll('#graph .caption, #canvas, #details, .zoom')]
      .every((part) => part.getBoundingClientRect().left >= 0 && part.getBoundingClientRect().right <= innerWidth)`);
    expect(inside).toBe(true);
    expect((await t.page.locator('#canvas').boundingBox())!.height).toBeGreaterThan(150);
    await t.page.getByRole('button', { name: 'Fit into the window' }).click();
    await t.page.locator('#details', { hasText: 'Why this one' }).scrollIntoViewIfNeeded();
  });

  it('says of a transient service how many were created, but not how many are alive', async () => {
    t.container.addRegistration(Registration.fromFactory(() => ({})).to('IUsers'));
    await t.start();
    await t.open();
    await t.ask('/users/1');
    await service('IUsers').click();
    const numbers = t.page.locator('#details .numbers');
    await numbers.getByText('Its scope does not keep it').waitFor();
    expect(await numbers.locator('dt').allTextContents()).toEqual(['created', 'average', 'longest']);
  });

  it('marks the box of scopes that leak, and lists where they were opened', async () => {
    await t.start({ limitMs: 50 });
    await t.open();
    await t.ask('/forgetful/1');
    await t.page.locator('[data-box="application"] > header .leaks', { hasText: '1 leak' }).click();
    await t.page.locator('#details', { hasText: 'browser-app.ts' }).waitFor();
    await t.page.locator('#details').getByRole('button', { name: 'request 1' }).click();
    await t.page.locator('#requests .details h2', { hasText: '/forgetful/:id' }).waitFor();
    await t.page.getByRole('button', { name: 'Play in the graph' }).click();
    await t.page.getByLabel('Speed').selectOption('4');
    await expect(
      t.page.locator('.caption', { hasText: 'a job scope is still open' }).waitFor(),
    ).resolves.toBeUndefined();
    expect(await t.page.locator('.box.left').count()).toBe(1);
  });
});

/** Resolves when nothing changes its look any more. */
const TRANSITIONS = `Promise.allSettled(document.getAnimations().map(({ finished }) => finished))`;

/** The lowest contrast of a name with the box behind it. */
const CONTRAST = `(() => {
  const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const light = (color) => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
  const box = light(getComputedStyle(document.querySelector('.box.root')).backgroundColor);
  return Math.min(...[...document.querySelectorAll('.service:not(.near) .key')].map((key) => {
    const opacity = Number(getComputedStyle(key).opacity);
    const text = light(getComputedStyle(key).color) * opacity + box * (1 - opacity);
    return (Math.max(text, box) + 0.05) / (Math.min(text, box) + 0.05);
  }));
})()`;
