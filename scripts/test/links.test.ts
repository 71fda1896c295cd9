import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const listed = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' }).split('\0');
const pages = listed.filter((path) => path !== '' && existsSync(join(root, path)));

const withoutCode = (markdown: string): string =>
  markdown.replaceAll(/^```[^]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, 'code');

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(path: string): Set<string> {
  const headings = readFileSync(join(root, path), 'utf8')
    .replaceAll(/^```[^]*?^```$/gm, '')
    .match(/^#{1,6} .*$/gm);
  return new Set((headings ?? []).map((heading) => anchorOf(heading.replace(/^#+ /, ''))));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function brokenLinksOf(path: string): string[] {
  const links = Array.from(
    withoutCode(readFileSync(join(root, path), 'utf8')).matchAll(/\]\(([^)\s]+)\)/g),
    ([, to = '']) => to,
  );
  return links
    .filter((to) => !/^[a-z]+:/.test(to))
    .filter((to) => {
      const [file = '', anchor] = to.split('#');
      const target = file === '' ? path : relative(root, join(root, dirname(path), file));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
    });
}

it.each(pages)('every link of %s leads to a file and a heading that exist', (path) => {
  expect(brokenLinksOf(path)).toEqual([]);
});
