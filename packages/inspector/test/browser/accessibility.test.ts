import axe from 'axe-core';
import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/test-kit/chromium';

const FINDINGS = `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`;

/** The elements that are cut off by the window, and by how much the page scrolls sideways. */
const CUT_OFF = `[document.documentElement.scrollWidth - innerWidth, ...[...document.querySelectorAll(
  '.top :is(a, button), .connection, .rate, .took, .status, .request .badge, .tools > *')]
  .filter((element) => element.checkVisibility())
  .filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return left < 0 || right > innerWidth + 0.5;
  })
  .map((element) => element.outerHTML)]`;

describe.skipIf(chromiumUnwanted)('in Chromium axe finds nothing wrong, and nothing is cut off', () => {
  const t = useBrowserApp();

  it.each([
    [320, 'light'],
    [1024, 'dark'],
    [2560, 'light'],
  ] as const)('in each view and an opened request, in a window of %i pixels, %s', async (width, colorScheme) => {
    await t.start({ limitMs: 50, slowMs: 1, links: { 'API reference': '/docs' } });
    await t.page.setViewportSize({ width, height: 900 });
    await t.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await t.open('#/requests');
    for (const path of ['/users/1', '/orders/1', '/sold-out/1', '/checked/1', '/forgetful/1']) await t.ask(path);
    await t.row('leak').waitFor();
    await t.page.evaluate(axe.source);
    const look = async (name: string): Promise<void> =>
      expect([name, await t.page.evaluate(FINDINGS), await t.page.evaluate(CUT_OFF)]).toEqual([name, [], [0]]);
    for await (const name of t.views()) await look(name);
    await t.page.getByRole('button', { name: 'Statements' }).click();
    await t.page.locator('#statements tbody tr').first().waitFor();
    await look('Statements');
    await t.page.getByRole('link', { name: 'Requests' }).click();
    await t.row('/forgetful').click();
    await t.page.locator('.request-view .trouble').first().waitFor();
    await look('a request');
  });
});
