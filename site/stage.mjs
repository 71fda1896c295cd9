// Lays out what VitePress builds: every page with its links as the site has them, pictures, and the API reference.
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { apiPages } from './reference.mjs';
import { readApi } from '../tools/api.mjs';
import { markdownOf, summaryOf, titleOf } from './markdown.mjs';
import { sectionsIn } from './navigation.mjs';
import { Pages } from './pages.mjs';

/** @typedef {{ path: string, title: string, summary: string, markdown: string, isListed: boolean }} StagedPage */
/** @typedef {{ pages: StagedPage[], sections: import('./navigation.mjs').Section[], api: import('./navigation.mjs').Link[] }} Staged */

/** What a reader of the documents looks for is hardly ever in these. */
const BESIDE =
  /^(source|test|packages\/container\/test)\/|^(changelog|changesets|architecture|contributing|decisions)\.md$/;

/**
 * @param {string} root of the repository
 * @param {string} target
 * @returns {Staged}
 */
export function stage(root, target) {
  rmSync(target, { recursive: true, force: true });
  const pages = new Pages(root);
  const written = Array.from(pages.all(), ([source, path]) => ({ path, markdown: markdownOf(root, source, pages) }));
  const api = apiPages(readApi(root), root);
  const staged = [...written, ...api].map(({ path, markdown }) => ({
    path,
    markdown,
    title: titleOf(markdown),
    summary: summaryOf(markdown),
    isListed: !BESIDE.test(path),
  }));
  for (const page of staged) {
    const file = join(target, page.path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, frontMatter(page) + page.markdown);
  }
  for (const name of readdirSync(join(root, 'docs')).filter((each) => /\.(png|svg)$/.test(each)))
    cpSync(join(root, 'docs', name), join(target, 'public', name), { recursive: true });
  cpSync(join(root, 'packages/inspector/assets/icon.svg'), join(target, 'public/mark.svg'));
  const contents = staged.find(({ path }) => path === 'documentation.md');
  return {
    pages: staged,
    sections: sectionsIn(contents?.markdown ?? ''),
    api: staged
      .filter(({ path }) => path.startsWith('api/'))
      .map(({ path, title }) => ({ text: title, link: `/${path}` })),
  };
}

/** @param {string} markdown of a staged page */
export const isUnlisted = (markdown) => /^search: false$/m.test(markdown.slice(0, markdown.indexOf('\n---')));

/** @param {StagedPage} page */
function frontMatter({ path, title, summary, isListed }) {
  const front = path === 'index.md' && {
    layout: 'doc',
    sidebar: false,
    aside: false,
    outline: false,
    prev: false,
    next: false,
    pageClass: 'front',
  };
  const fields = { title, description: summary, search: isListed, ...front };
  return `---\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
    .join('')}---\n\n`;
}
