import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { defineConfig } from 'vitepress';
import { forModels } from '../llms.mjs';
import { anchorOf } from '../markdown.mjs';
import { options, searchOptions } from '../search.mjs';
import { isUnlisted, stage } from '../stage.mjs';

const site = resolve(import.meta.dirname, '..');
const staged = stage(resolve(site, '..'), join(site, '.pages'));

/** Where the site is served from, such as `/ambit/`. */
const base = process.env['SITE_BASE'] ?? '/';

export default defineConfig({
  base,
  lang: 'en',
  title: 'Ambit',
  description: 'Request-scoped dependency injection and database transactions for Node',
  srcDir: '.pages',
  srcExclude: ['public/**'],
  outDir: './dist',
  cacheDir: './.cache',
  appearance: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}mark.svg` }]],
  // A visitor of the front page would load four pages more than the one that is asked for.
  router: { prefetchLinks: false },
  markdown: {
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: withPlainCorners,
    languageAlias: { cfg: 'ini', mjs: 'js', mts: 'ts' },
  },
  themeConfig: {
    logo: { src: '/mark.svg', alt: '', width: 24, height: 24 },
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Documentation', link: '/documentation' },
      { text: 'API', link: '/api/container' },
      { text: 'Errors', link: '/errors' },
    ],
    sidebar: { '/api/': [{ text: 'API', items: staged.api }], '/': staged.sections },
    search: {
      provider: 'local',
      options: {
        _render(source, env, markdown) {
          if (isUnlisted(source)) return '';
          // Nobody sees the colours of what is searched.
          markdown.options.highlight = null;
          return markdown.render(source, env);
        },
        // Each result with what stands there.
        detailedView: true,
        miniSearch: { options, searchOptions },
      },
    },
  },
  buildEnd({ outDir }) {
    const files = {
      ...forModels(staged),
      ...Object.fromEntries(staged.pages.map(({ path, markdown }) => [path, markdown])),
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(outDir, path)), { recursive: true });
      writeFileSync(join(outDir, path), text);
    }
  },
});

/** The empty cell in the corner of a table is no heading. @param {import('vitepress').MarkdownRenderer} md */
function withPlainCorners(md) {
  md.core.ruler.push('plain-corners', ({ tokens }) => {
    for (const [i, token] of tokens.entries()) {
      if (token.type !== 'th_open' || tokens[i + 1]?.content !== '') continue;
      for (const cell of [token, tokens[i + 2]]) if (cell) cell.tag = 'td';
    }
  });
}
