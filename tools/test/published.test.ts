import { expect, it } from 'vitest';
import { withAbsoluteLinks } from '../published.mjs';

const BASE = 'https://example.org/ambit/blob/v1.0.0';
const published = (markdown: string): string => withAbsoluteLinks(markdown, 'packages/shop', BASE);

it('lets links lead to the files of the release', () => {
  expect(published('[Errors](../../docs/errors.md#a) [source](src/index.ts)')).toBe(
    `[Errors](${BASE}/docs/errors.md#a) [source](${BASE}/packages/shop/src/index.ts)`,
  );
});

it('lets pictures be pictures', () => {
  expect(published('<img src="../../docs/now.png">')).toBe(`<img src="${BASE}/docs/now.png?raw=true">`);
});

it('leaves headings of the page and other sites alone', () => {
  const markdown = '[here](#use) [there](https://example.com/a) <a href="mailto:a@example.com">';
  expect(published(markdown)).toBe(markdown);
});
