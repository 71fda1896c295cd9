// The Markdown of the repository as the site needs it.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, posix } from 'node:path';

/** @typedef {import('./pages.mjs').Pages} Pages */

const CODE_BLOCK = /^(`{3,}).*\n[^]*?^\1$/gm;
const CODE = /^(`{3,}).*\n[^]*?^\1$|`[^`\n]+`/gm;
const LANGUAGES = new Set(['ts', 'js', 'mjs', 'json', 'yaml', 'sql', 'ini', 'cfg', 'sh']);

/**
 * @param {string} root of the repository
 * @param {string} source
 * @param {Pages} pages
 */
export function markdownOf(root, source, pages) {
  if (statSync(join(root, source)).isDirectory()) return folderPage(root, source, pages);
  const text = readFileSync(join(root, source), 'utf8');
  return source.endsWith('.md') ? withInstallation(withLinks(text, source, pages)) : codePage(source, text);
}

/** Readers try what a page says before they read README.md: the first installation says what takes its place. @param {string} markdown */
function withInstallation(markdown) {
  if (markdown.includes('not on the npm registry yet')) return markdown;
  return markdown.replace(
    /^```sh\n[^`]*npm install [^`]*@ambit\/[^`]*^```$/m,
    '$&\n\nThe packages are not on the npm registry yet: [a clone packs and installs them](/readme.md#install).',
  );
}

/** What search engines and models read first: the first paragraph after the title. @param {string} markdown */
export function summaryOf(markdown) {
  const blocks = markdown.replaceAll(CODE_BLOCK, '').split(/\n\s*\n/);
  const paragraph = blocks.slice(1).find((block) => /^\s*(?:[\p{L}`*[]|\d+ )/u.test(block)) ?? '';
  return paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** @param {string} markdown */
export const titleOf = (markdown) => /^# (.*)$/m.exec(markdown)?.[1]?.replaceAll(/[`*]/g, '') ?? '';

/** The anchors that forges give to headings, which our links use. @param {string} heading */
export const anchorOf = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** @param {string} text @param {(prose: string) => string} change what is not code */
function outsideOfCode(text, change) {
  let result = '';
  let end = 0;
  for (const match of text.matchAll(CODE)) {
    result += change(text.slice(end, match.index)) + match[0];
    end = match.index + match[0].length;
  }
  return result + change(text.slice(end));
}

/** @param {string} text @param {string} source @param {Pages} pages */
function withLinks(text, source, pages) {
  const isOurs = (/** @type {string} */ to) => !/^[a-z]+:|^$/.test(to);
  const addressOf = (/** @type {string} */ to) =>
    /\.(png|svg)$/.test(to) ? `/${posix.basename(to)}` : pages.resolve(source, to);
  return outsideOfCode(text, (prose) =>
    prose
      .replaceAll(/\b(src|srcset)="([^"]+)"/g, (whole, name, to) => (isOurs(to) ? `${name}="${addressOf(to)}"` : whole))
      .replaceAll(/\]\(([^)\s]+)\)/g, (whole, to) => (isOurs(to) ? `](${addressOf(to)})` : whole))
      .replaceAll(/^(\[[^\]]+\]: )(\S+)$/gm, (whole, name, to) => (isOurs(to) ? name + addressOf(to) : whole)),
  );
}

/** @param {string} source @param {string} text */
function codePage(source, text) {
  const extension = extname(source).slice(1);
  const language = extension === 'cfg' ? 'ini' : LANGUAGES.has(extension) ? extension : 'text';
  return `# ${source}\n\n\`\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\`\n`;
}

/** @param {string} root @param {string} source @param {Pages} pages */
function folderPage(root, source, pages) {
  const files = readdirSync(join(root, source), { withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name !== 'package-lock.json',
  );
  const lines = files.map(({ name }) => `- [${name}](${pages.resolve(`${source}/README.md`, name)})`);
  return `# ${source}\n\n${lines.join('\n')}\n`;
}
