import axe from 'axe-core';
import { describe, expect, it } from 'vitest';
import { useBrowserApp } from '../support/browser-app.js';
import { chromiumUnwanted } from '@ambit/host-contract/chromium';

/** Of all rules, only these can tell dark from light. */
const COLORS = ['color-contrast', 'link-in-text-block'];
const findingsIn = (theme: 'dark' | 'light'): string => `axe.run(${JSON.stringify({
  resultTypes: ['violations'],
  ...(theme === 'dark' && { runOnly: COLORS }),
})}).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' ' + target + ': ' + failureSummary)))`;

describe.skipIf(chromiumUnwanted)('axe finds nothing wrong', () => {
  const t = useBrowserApp();

  const visit = async (width: number, theme: 'dark' | 'light'): Promise<void> => {
    await t.start({ limitMs: 50, slowMs: 1 });
    await t.page.setViewportSize({ width, height: 900 });
    await t.page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await t.open('#/requests');
    for (const path of ['/users/1', '/orders/1', '/sold-out/1', '/checked/1', '/forgetful/1']) await t.ask(path);
    await t.row('leak').waitFor();
    await t.page.evaluate(axe.source);
  };

  describe.each([390, 1440])('in a window of %i pixels', (width) => {
    it.each(['light', 'dark'] as const)('in each view, %s', async (theme) => {
      await visit(width, theme);
      for await (const name of t.views()) expect([name, await t.page.evaluate(findingsIn(theme))]).toEqual([name, []]);
    });

    it.each(['light', 'dark'] as const)('in an opened request, each table and the shortcuts, %s', async (theme) => {
      await visit(width, theme);
      await t.row('/forgetful').click();
      await t.page.locator('.request-view .trouble').first().waitFor();
      expect(await t.page.evaluate(findingsIn(theme))).toEqual([]);
      await t.page.getByRole('tab', { name: 'Totals' }).click();
      for (const name of ['Statements', 'Start-up']) {
        await t.page.getByRole('button', { name }).click();
        await t.page.getByRole('region', { name }).waitFor();
        expect([name, await t.page.evaluate(findingsIn(theme))]).toEqual([name, []]);
      }
      await t.page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
      await t.page.getByRole('dialog').waitFor();
      expect(await t.page.evaluate(findingsIn(theme))).toEqual([]);
    });
  });
});
