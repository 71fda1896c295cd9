import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { addresses, useSite, type Visit } from './support/site.js';

const axeCode = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Programs of the repository, which the pages link to: one of them stands for all. */
const isCode = (address: string): boolean => address.startsWith('/source/');
/** One of each layout, whose colours are compared in the narrow window, too: its menus are others. */
const LAYOUTS = ['/index.html', '/concepts/scopes.html', '/api/hono.html'];
const every = [...addresses.filter((address) => !isCode(address)), ...addresses.filter(isCode).slice(0, 1)];
/** axe takes ten minutes for all pages. Pages of one folder have one layout, so a tenth of them stands for all, unless `PAGES=all`. */
const pages = every.filter(
  (address, index) => process.env['PAGES'] === 'all' || LAYOUTS.includes(address) || index % 10 === 0,
);
const WIDTHS = [390, 1440, 2560];

interface Axe {
  run(context: object, options: object): Promise<{ violations: { id: string; nodes: AxeNode[] }[] }>;
}
interface AxeNode {
  readonly target: string[];
  readonly failureSummary: string;
}

/** The words of a program are too many for axe, which looks at each: their colours are compared below. */
async function findings({ page }: Visit, options: object): Promise<string[]> {
  return page.evaluate(async (given) => {
    const { axe } = globalThis as unknown as { axe: Axe };
    const { violations } = await axe.run({ exclude: [['pre.shiki code']] }, { resultTypes: ['violations'], ...given });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary}`),
    );
  }, options);
}

/** The colours of programs that stand out too little from what is behind them. */
async function faintColors({ page }: Visit): Promise<string[]> {
  return page.evaluate(() => {
    const luminance = (color: string): number => {
      const parts = (color.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => Number(part) / 255);
      const [red = 0, green = 0, blue = 0] = parts.map((part) =>
        part <= 0.039_28 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const backgroundOf = (element: Element): string => {
      for (let at: Element | null = element; at; at = at.parentElement) {
        const { backgroundColor } = getComputedStyle(at);
        if (!/^rgba\(.*, 0\)$/.test(backgroundColor)) return backgroundColor;
      }
      return 'rgb(255, 255, 255)';
    };
    const pairs = new Set<string>();
    for (const block of document.querySelectorAll('pre.shiki')) {
      const behind = backgroundOf(block);
      for (const word of block.querySelectorAll('span span')) pairs.add(`${getComputedStyle(word).color} on ${behind}`);
    }
    return [...pairs].filter((pair) => {
      const [one = 0, other = 0] = pair
        .split(' on ')
        .map(luminance)
        .toSorted((a, b) => b - a);
      return (one + 0.05) / (other + 0.05) < 4.5;
    });
  });
}

/** Only these rules can tell dark from light. */
const ONLY_COLORS = { runOnly: ['color-contrast', 'link-in-text-block'] };

describe('a page', () => {
  const site = useSite();

  it.concurrent.each(pages)(
    '%s reads well in 390, 1,440 and 2,560 px, light and dark, and asks nobody else',
    // axe looks at the longest pages for a minute where other programs run beside it.
    { timeout: 300_000 },
    async (address) => {
      await using visit = await site.open(address, { reducedMotion: 'reduce', bypassCSP: true });
      const { page } = visit;
      await page.evaluate(axeCode);
      const wrong: string[] = [];
      for (const dark of [false, true]) {
        await page.evaluate((isDark) => document.documentElement.classList.toggle('dark', isDark), dark);
        wrong.push(...(await faintColors(visit)));
        for (const width of WIDTHS) {
          const isExamined = width === 1440 || LAYOUTS.includes(address);
          // What is dark is as wide.
          if (dark && !isExamined) continue;
          await page.setViewportSize({ width, height: 900 });
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          if (overflow > 0) wrong.push(`${width} px: ${overflow} px too wide`);
          const wide = await page.evaluate(() =>
            Array.from(document.querySelectorAll('main pre'))
              .filter((block) => block.scrollWidth > block.clientWidth)
              .map((block) => block.textContent.slice(0, 40)),
          );
          if (width === 1440) wrong.push(...wide.map((text) => `code is wider than its column: ${text}`));
          if (!isExamined) continue;
          const found = await findings(visit, dark ? ONLY_COLORS : {});
          wrong.push(...found.map((each) => `${width} px, ${dark ? 'dark' : 'light'}: ${each}`));
        }
      }
      expect(wrong).toEqual([]);
      expect([visit.complaints, visit.elsewhere]).toEqual([[], []]);
    },
  );

  it('can be read without JavaScript', async () => {
    await using visit = await site.open('/concepts/scopes.html', { javaScriptEnabled: false });
    expect(await visit.page.locator('main h1').textContent()).toContain('Scopes');
    await visit.page.getByRole('link', { name: 'Open as Markdown' }).click();
    expect(await visit.page.textContent('body')).toContain('# Scopes');
  });

  it('is copied as Markdown', async () => {
    await using visit = await site.open('/concepts/scopes.html', {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await visit.page.getByRole('button', { name: 'Copy as Markdown' }).click();
    await visit.page.getByText('Copied', { exact: true }).waitFor();
    expect(await visit.page.evaluate(() => navigator.clipboard.readText())).toMatch(/^# Scopes/);
  });
});
