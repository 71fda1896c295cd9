// Pictures of the site, to look at: one of each kind of page, in three widths, light and dark.
//   npm run docs && node site/screenshots.mjs <folder> [page ...]
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { launchChromium } from '@ambit/test-kit/chromium';
import { siteServer } from './serve.mjs';

const PAGES = ['/', '/guides/orms.html', '/api/container.html', '/documentation.html', '/playground.html'];
const WIDTHS = [390, 1440, 2560];

const [folder, ...named] = process.argv.slice(2);
if (folder === undefined) throw new Error('Usage: node site/screenshots.mjs <folder> [page ...]');
mkdirSync(folder, { recursive: true });
const server = siteServer().listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
const browser = await launchChromium();
try {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const width of WIDTHS) {
      const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme, reducedMotion: 'reduce' });
      for (const address of named.length > 0 ? named : PAGES) {
        await page.goto(`http://127.0.0.1:${port}${address}`);
        if (address.startsWith('/playground')) await page.getByRole('log').getByText('Captive dependency').waitFor();
        const name =
          address
            .replace(/\.html$/, '')
            .replaceAll('/', '-')
            .slice(1) || 'front';
        await page.screenshot({
          path: join(folder, `${name}-${width}-${colorScheme}.png`),
          fullPage: address === '/',
        });
      }
      if (named.length === 0) {
        await page.goto(`http://127.0.0.1:${port}/documentation.html`);
        await page.getByRole('button', { name: 'Search' }).first().click();
        await page.getByRole('searchbox').fill('transaction');
        await page.locator('#localsearch-list a').first().waitFor();
        await page.screenshot({ path: join(folder, `search-${width}-${colorScheme}.png`) });
      }
      await page.close();
    }
  }
} finally {
  await browser.close();
  server.close();
}
