import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { addresses, useSite, type Visit } from './support/site.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Programs of the repository, which the pages link to: one of them stands for all. */
const isCode = (address: string): boolean => address.startsWith('/source/');
const examined = [...addresses.filter((address) => !isCode(address)), ...addresses.filter(isCode).slice(0, 1)];

interface Axe {
  run(context: Document, options: object): Promise<{ violations: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] }>;
}

async function findings({ page }: Visit, options: object): Promise<string[]> {
  return page.evaluate(async (given) => {
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(document, given);
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target.join(' ')}: ${node.failureSummary}`));
  }, options);
}

/** Of all rules, only those about colours can tell dark from light. */
const COLORS = { runOnly: ['color-contrast', 'link-in-text-block'] };

describe('every page', () => {
  const site = useSite();

  it.concurrent.each(examined)('%s reads well in 390 and 1,440 px, light and dark, and asks nobody else', async (address) => {
    await using visit = await site.open(address, { reducedMotion: 'reduce', bypassCSP: true });
    const { page } = visit;
    await page.evaluate(axe);
    const wrong: string[] = [];
    for (const dark of [false, true]) {
      await page.evaluate((isDark) => document.documentElement.classList.toggle('dark', isDark), dark);
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (overflow > 0) wrong.push(`${width} px: ${overflow} px too wide`);
        wrong.push(...(await findings(visit, dark ? COLORS : {})).map((each) => `${width} px, ${dark ? 'dark' : 'light'}: ${each}`));
      }
    }
    expect(wrong).toEqual([]);
    expect([visit.complaints, visit.elsewhere]).toEqual([[], []]);
  });

  it('can be read without JavaScript', async () => {
    await using visit = await site.open('/concepts/scopes.html', { javaScriptEnabled: false });
    expect(await visit.page.locator('main h1').textContent()).toContain('Scopes');
    await visit.page.getByRole('link', { name: 'Open as Markdown' }).click();
    expect(await visit.page.textContent('body')).toContain('# Scopes');
  });

  it('is copied as Markdown', async () => {
    await using visit = await site.open('/concepts/scopes.html', { permissions: ['clipboard-read', 'clipboard-write'] });
    await visit.page.getByRole('button', { name: 'Copy as Markdown' }).click();
    await visit.page.getByText('Copied', { exact: true }).waitFor();
    expect(await visit.page.evaluate(() => navigator.clipboard.readText())).toMatch(/^# Scopes/);
  });
});
