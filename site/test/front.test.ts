import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { folder } from '../serve.mjs';
import { useSite } from './support/site.js';

describe('the front page', () => {
  const site = useSite();

  it('is less than 150 kB with all that it loads, compressed', async () => {
    await using visit = await site.open('/llms.txt');
    const session = await visit.page.context().newCDPSession(visit.page);
    await session.send('Network.enable');
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => void (bytes += encodedDataLength));
    await visit.page.goto(`${site.url}/`, { waitUntil: 'networkidle' });
    expect(bytes).toBeGreaterThan(30_000);
    expect(bytes).toBeLessThan(150_000);
    console.log(`The front page loads ${bytes} bytes.`);
  });

  it.each(['Express', 'Fastify', 'NestJS', 'Hono'])('leads to %s with one click', async (name) => {
    await using visit = await site.open('/');
    await visit.page.getByRole('heading', { name }).getByRole('link', { name, exact: true }).click();
    await visit.page.waitForURL((url) => url.pathname !== '/');
    expect(await visit.page.locator('main').textContent()).toContain(name);
    expect(visit.complaints).toEqual([]);
  });

  it('has the mark and the colours of the inspector, dark and light', async () => {
    const mark = readFileSync(join(folder, 'mark.svg'), 'utf8');
    expect(mark).toBe(readFileSync(join(folder, '../../packages/inspector/assets/icon.svg'), 'utf8'));
    await using visit = await site.open('/', { colorScheme: 'light', reducedMotion: 'reduce' });
    const { page } = visit;
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toBe('/mark.svg');
    const styles = readFileSync(join(folder, '../../packages/inspector/page/styles/colors.css'), 'utf8');
    const [, light, dark] = /--text: light-dark\((#\w+), (#\w+)\)/.exec(styles) ?? [];
    const colorOfText = async () => {
      const parts = await page.evaluate(() => getComputedStyle(document.body).color.match(/\d+/g) ?? []);
      return `#${parts.map((part) => Number(part).toString(16).padStart(2, '0')).join('')}`;
    };
    expect(await colorOfText()).toBe(light);
    await page.getByRole('switch', { name: 'Switch to dark theme' }).click();
    expect(await colorOfText()).toBe(dark);
    await page.reload();
    expect(await colorOfText()).toBe(dark);
  });
});
