import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  type Fault,
  FAULTS,
  type FaultyApp,
  FaultyApps,
  kindOf,
  lineOf,
  make,
  PLACES,
  troublesOf,
} from '../faults/faults.js';
import { chromiumUnwanted, launchChromium } from '@ambit/test-kit/chromium';

const MOST_CLICKS = 2;

/** Somebody who looks for the cause of a fault, from the address of the page alone. */
class Reader {
  clicks = 0;
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async click(what: Locator): Promise<void> {
    this.clicks++;
    await what.click();
  }
}

describe('the cause of a fault and its line, by the tools, and on the page in Chromium', () => {
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
  let browser: Browser | undefined;
  let context: BrowserContext | undefined;

  beforeAll(async () => {
    if (chromiumUnwanted) return;
    browser = await launchChromium();
    context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  });
  afterAll(() => browser?.close());

  /** Opens the page, and reads what is wrong and where: first in the list of troubles, then at the step. */
  const read = async (app: FaultyApp, fault: Fault): Promise<number> => {
    // What the tools say, which name it by now, needs no Chromium.
    if (!context) return 0;
    const reader = new Reader(await context.newPage());
    const { page } = reader;
    const kind = kindOf(fault);
    const ofKind = (within: string) =>
      page.locator(`${within} .trouble[data-kind="${kind}"]`, { hasText: lineOf(fault) });
    const trouble = ofKind('#now').filter({ hasText: fault.cause }).first();
    await page.goto(`${app.url}/inspector/`);
    await trouble.waitFor().catch(async (error: unknown) => {
      throw new Error(`It says instead: ${await page.locator('#now').innerText()}`, { cause: error });
    });
    const more = trouble.locator('.open');
    if (await more.count()) {
      await reader.click(more);
      if (kind === 'graph') await page.locator('.problem', { hasText: fault.cause }).first().waitFor();
      else {
        await ofKind('.request-view').first().waitFor();
        await expect.poll(() => page.locator('.row[data-at]').count()).toBe(1);
      }
    }
    await page.close();
    return reader.clicks;
  };

  describe.each(PLACES)('on %s with %s', (host, database) => {
    const apps = new FaultyApps(host, database);
    afterAll(() => apps.close());

    it('are not named without trouble, nor of a request that the application refused', async () => {
      const app = await apps.with();
      for (const [path, status] of Object.entries({ fine: 200, refused: 409, waits: 200 }))
        expect(await app.ask(path)).toBe(status);
      expect(await troublesOf(app)).toEqual([]);
    });

    it.each(FAULTS.filter(({ not }) => !not?.[database]))(
      `are named, and read within ${MOST_CLICKS} clicks: $name`,
      async (fault) => {
        const app = await apps.with(fault.options);
        await make(app, fault);
        expect(await read(app, fault)).toBeLessThanOrEqual(MOST_CLICKS);
      },
    );
  });
});
