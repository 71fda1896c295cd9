import axe from 'axe-core';
import { describe, expect, it } from 'vitest';
import { hasTag, lifetimes, optional, Registration, scope, singleton } from '@ambit/container';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

describe.skipIf(chromiumUnwanted)('the graph in Chromium', () => {
  const t = useBrowserApp();
  const service = (key: string) => t.page.locator('.service', { hasText: key }).first();
  const inScope = (tag: string) => [singleton(), scope(hasTag(tag))] as const;
  const make = (...needs: string[]) => Registration.fromFactory(() => ({}), needs as never[]);

  const withMany = (services: number) =>
    t.container.addRegistration(
      ...Array.from({ length: services }, (_, i) =>
        Registration.fromFactory((pool) => ({ pool }), ['IDatabasePool'])
          .pipe(...(i % 2 === 0 ? [singleton()] : inScope('request')))
          .to(`IMany${i}`),
      ),
    );

  /** A captive dependency, and a service that writes outside of the transaction. */
  const withProblems = () =>
    t.container.addRegistration(
      make('IUsers').pipe(singleton()).to('IGreeter'),
      make('IDatabasePool')
        .pipe(...inScope('request'))
        .to('IQueryable'),
      make('IConnection')
        .pipe(...inScope('transaction'))
        .to('IQueryable'),
      make('IQueryable')
        .pipe(...inScope('request'))
        .to('ILedger'),
    );

  /** What of the drawing is not within the canvas. */
  const cutOff = () =>
    t.page.evaluate(`(() => {
      const { left, right, top, bottom } = document.querySelector('#canvas').getBoundingClientRect();
      return [...document.querySelectorAll('.box, .service')].filter((element) => {
        const at = element.getBoundingClientRect();
        return at.left < left || at.right > right || at.top < top || at.bottom > bottom;
      }).map(({ dataset }) => dataset.id);
    })()`);

  it.for([
    [390, 844, 0],
    [1440, 900, 0],
    [1440, 900, 50],
    [1440, 900, 200],
    [2560, 1440, 200],
  ] as const)(
    'opens whole, in letters that can be read, at %i x %i with %i more services',
    async ([width, height, more]) => {
      withMany(more);
      await t.start();
      await t.page.setViewportSize({ width, height });
      await t.open();
      expect(await cutOff()).toEqual([]);
      const letters = await t.page
        .evaluate<number>(`Math.min(...[...document.querySelectorAll('.service')].map((element) =>
      parseFloat(getComputedStyle(element).fontSize) * element.getBoundingClientRect().width / element.offsetWidth))`);
      expect(letters).toBeGreaterThan(7);
    },
  );

  it('is laid out again for a window of another width', async () => {
    await t.start();
    await t.page.setViewportSize({ width: 1280, height: 800 });
    await t.open();
    await t.page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(cutOff).toEqual([]);
  });

  it('finds a service by its key, or a part of it', async () => {
    withMany(150);
    await t.start();
    await t.open();
    const search = t.page.getByRole('combobox', { name: 'Find a service' });
    await search.fill('IMany149 · request');
    await t.page.locator('#details h2', { hasText: 'IMany149' }).waitFor();
    await search.fill('many14');
    await t.page.keyboard.press('Enter');
    await t.page.locator('#details h2', { hasText: 'IMany14' }).waitFor();
    expect(await t.page.locator('.service[aria-pressed=true]').textContent()).toBe('IMany14');
  });

  it('names the features of services', async () => {
    const { feature, make: register, build } = lifetimes('application', 'request', 'transaction');
    const billing = feature('billing', { IRates: register('application', () => ({})) });
    t.container.addRegistration(...build(billing).registrations);
    await t.start();
    await t.open();
    const group = t.page.locator('[data-id="application"] > [aria-label="feature billing"]');
    expect(await group.locator('.key').allTextContents()).toEqual(['IRates']);
  });

  it('draws no more arrows than somebody can follow: then only those of the chosen service', async () => {
    withMany(210);
    await t.start();
    await t.open();
    await t.page.locator('.hint', { hasText: '213 arrows are too many to read' }).waitFor();
    expect(await t.page.locator('.arrow').count()).toBe(0);
    await service('IUsers').click();
    await expect.poll(() => t.page.locator('.arrow.out').count()).toBe(2);
  });

  it('is reached with Tab, and arrow keys go from service to service', async () => {
    await t.start();
    await t.open();
    await t.page.locator('.service[tabindex="0"]').focus();
    const [first, next] = (await t.page.locator('.service .key').allTextContents()) as [string, string];
    await t.page.keyboard.press('ArrowDown');
    expect(await t.page.locator('.service:focus').textContent()).toBe(next);
    await t.page.keyboard.press('ArrowUp');
    await t.page.keyboard.press('Enter');
    await t.page.locator('#details h2', { hasText: first }).waitFor();
    await t.page.keyboard.press('Escape');
    await t.page.getByText('How to read this').waitFor();
    expect(await t.page.locator('.service[aria-pressed=true]').count()).toBe(0);
  });

  it('draws the path of a captive dependency, with what is wrong beside it', async () => {
    withProblems();
    await t.start();
    await t.open();
    await t.page.getByRole('button', { name: "Captive dependency: 'IGreeter'" }).click();
    await t.page
      .locator('.callout', { hasText: "'IGreeter' of [application] outlives 'IUsers' of [request]" })
      .waitFor();
    expect(await t.page.locator('.service.traced').allTextContents()).toEqual(['IGreeter', 'IUsers']);
    expect(await t.page.locator('.arrow.traced').count()).toBe(1);
    await t.page.locator('#details', { hasText: 'hint' }).waitFor();
    await t.page.keyboard.press('Escape');
    await expect.poll(() => t.page.locator('.callout, .traced').count()).toBe(0);
  });

  it.for([
    ["Captive dependency: 'IGreeter'", 'IGreeter', 'IUsers'],
    ["Split key: 'ILedger'", 'ILedger', 'IQueryable'],
  ] as const)('is one click from the trouble: %s', async ([cause, from, to]) => {
    withProblems();
    await t.start();
    await t.page.goto(`${t.app.url}/inspector/`);
    await t.page.locator('.trouble', { hasText: cause }).getByRole('button', { name: 'Show in the graph' }).click();
    await t.page.locator('.callout', { hasText: from }).waitFor();
    expect((await t.page.locator('.service.traced').allTextContents()).toSorted()).toEqual([from, to]);
    expect(await t.page.locator('.service.traced').first().isVisible()).toBe(true);
    expect(await t.page.locator('.problem [aria-pressed=true]').textContent()).toContain(cause);
    await t.page.goBack();
    await t.page.locator('.trouble', { hasText: cause }).waitFor();
  });

  it('names an optional dependency that is registered nowhere, quietly, and leads to who asks for it', async () => {
    t.container.addRegistration(Registration.fromFactory(() => ({}), [optional('IUserz' as never)]).to('IGreeter'));
    await t.start();
    await t.open();
    await t.page.locator('.note', { hasText: "IGreeter: 'IUserz' is optional, and registered nowhere" }).click();
    await t.page.locator('#details h2', { hasText: 'IGreeter' }).waitFor();
    expect(await t.page.locator('.problem').count()).toBe(0);
  });

  it('draws what a service outside of the transaction uses, and what it does not', async () => {
    withProblems();
    await t.start();
    await t.open();
    await t.page.getByRole('button', { name: "Split key: 'ILedger'" }).click();
    await t.page
      .locator('.callout', { hasText: "keeps the 'IQueryable' of [request] also in [transaction]" })
      .waitFor();
    const request = t.page.locator('[data-id="application > request"] > .group > .traced');
    expect((await request.allTextContents()).toSorted()).toEqual(['ILedger', 'IQueryable']);
    const transaction = t.page.locator('[data-id="application > request > transaction"] .unused');
    expect(await transaction.allTextContents()).toEqual(['IQueryable']);
    expect(await t.page.locator('.arrow.unused').count()).toBe(1);
  });

  it.for([
    ['light', 390],
    ['dark', 1440],
  ] as const)(
    'has nothing that axe finds wrong while a path is drawn, %s at %i pixels',
    async ([colorScheme, width]) => {
      withProblems();
      await t.start();
      await t.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await t.page.setViewportSize({ width, height: 900 });
      await t.open();
      await t.page.getByRole('button', { name: "Split key: 'ILedger'" }).click();
      await t.page.locator('.callout').waitFor();
      await t.page.evaluate(axe.source);
      expect(
        await t.page.evaluate(`axe.run('#graph', { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`),
      ).toEqual([]);
    },
  );

  it('is not red where nothing is wrong', async () => {
    await t.start();
    await t.open();
    await t.ask('/orders/1');
    await t.page.locator('.caption', { hasText: 'COMMIT' }).waitFor();
    const red = await t.page.evaluate(`(() => {
      const bad = getComputedStyle(document.querySelector('#graph')).getPropertyValue('--bad').trim();
      const probe = Object.assign(document.createElement('i'), { style: 'color: ' + bad });
      document.body.append(probe);
      const { color } = getComputedStyle(probe);
      return [...document.querySelectorAll('#graph *')].filter((element) => {
        const style = getComputedStyle(element);
        return [style.color, style.borderTopColor, style.stroke, style.backgroundColor].includes(color);
      }).map(({ outerHTML }) => outerHTML);
    })()`);
    expect(red).toEqual([]);
  });

  it('highlights by tap, and names stay readable beside a highlighted service', async () => {
    await t.start();
    const context = await t.context.browser()!.newContext({ hasTouch: true, viewport: { width: 390, height: 844 } });
    t.page = await context.newPage();
    await t.open();
    await service('ISecret').tap();
    await t.page.locator('.arrow.in').waitFor();
    await t.page.locator('.service.near', { hasText: 'IUsers' }).waitFor({ state: 'attached' });
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

  it('zooms, and is dragged by its background', async () => {
    await t.start();
    await t.open();
    const scale = async () => Number.parseFloat((await t.page.locator('.scale').textContent())!);
    const before = await scale();
    for (let i = 0; i < 3; i++) await t.page.getByRole('button', { name: 'Zoom in' }).click();
    await expect.poll(scale).toBeGreaterThan(before * 1.6);
    const { x, y } = (await service('IUsers').boundingBox())!;
    const canvas = (await t.page.locator('#canvas').boundingBox())!;
    await t.page.mouse.move(canvas.x + canvas.width - 40, canvas.y + canvas.height - 40);
    await t.page.mouse.down();
    await t.page.mouse.move(canvas.x + canvas.width - 70, canvas.y + canvas.height - 60, { steps: 4 });
    await t.page.mouse.up();
    const moved = async () => {
      const now = (await service('IUsers').boundingBox())!;
      return [now.x - x, now.y - y].map(Math.round);
    };
    await expect.poll(moved).toEqual([-30, -20]);
    await t.page.getByRole('button', { name: 'Fit into the window' }).click();
    await expect.poll(scale).toBe(before);
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

  it('marks the box of scopes that leak, and leads to a request that leaked one', async () => {
    await t.start({ limitMs: 50 });
    await t.open();
    await t.ask('/forgetful/1');
    await t.page.locator('[data-id="application"] > header .leaks', { hasText: '1 leak' }).click();
    await t.page.locator('#requests .details h2', { hasText: '/forgetful/:id' }).waitFor();
    await t.page.getByRole('button', { name: 'Play in the graph' }).click();
    await t.page.locator('.caption .who', { hasText: '/forgetful/:id' }).waitFor();
    await t.page.locator('.scrub').fill('99');
    await t.page.locator('.caption', { hasText: 'a job scope is still open' }).waitFor();
    expect(await t.page.locator('.box.left').count()).toBe(1);
  });
});
