import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { defineConfig } from 'vitepress';
import { forModels } from '../llms.mjs';
import { anchorOf } from '../markdown.mjs';
import { buildPlayground } from '../playground/build.mjs';
import { stage } from '../stage.mjs';

const site = resolve(import.meta.dirname, '..');
const staged = stage(resolve(site, '..'), join(site, '.pages'));
const { sections } = staged;
await buildPlayground(join(site, '.pages/public'));

export default defineConfig({
  // Where the site is served from, such as `/ambit/`.
  base: process.env['SITE_BASE'] ?? '/',
  lang: 'en',
  title: 'Ambit',
  description: 'Request-scoped dependency injection and database transactions for Node',
  srcDir: '.pages',
  srcExclude: ['public/**'],
  outDir: './dist',
  cacheDir: './.cache',
  appearance: true,
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  markdown: {
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    languageAlias: { cfg: 'ini', mjs: 'js', mts: 'ts' },
  },
  themeConfig: {
    outline: [2, 3],
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Documentation', link: '/documentation' },
      { text: 'Errors', link: '/errors' },
      { text: 'Playground', link: '/playground' },
    ],
    sidebar: sections.map((section) => ({ ...section, collapsed: section.text === 'API' })),
    search: {
      provider: 'local',
      options: {
        _render: (source, env, markdown) => (env.frontmatter?.search === false ? '' : markdown.render(source, env)),
        miniSearch: { searchOptions: { boost: { title: 6, titles: 2, text: 1 }, fuzzy: 0.1, combineWith: 'AND' } },
      },
    },
  },
  buildEnd({ outDir }) {
    const files = { ...forModels(staged), ...Object.fromEntries(staged.pages.map(({ path, markdown }) => [path, markdown])) };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(outDir, path)), { recursive: true });
      writeFileSync(join(outDir, path), text);
    }
  },
});
