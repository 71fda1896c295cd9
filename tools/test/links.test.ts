import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const listed = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' }).split('\0');
const pages = listed.filter((path) => path !== '' && existsSync(join(root, path)));

/** Folders and files, each with every way to name it from a folder above. */
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
const places = [
  ...new Set(tracked.flatMap((path) => path.split('/').map((_, i, all) => all.slice(0, i + 1).join('/')))),
];

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

/** A path, or in what describes this repository also the name of a file; `*` and `{a,b}` as a shell has them. */
function missingFilesOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[^]*?^```$/gm, '');
  const spans = Array.from(text.matchAll(/`(\w[\w.*{},/-]+)`/g), ([, span = '']) => span.replace(/\/$/, ''));
  const isOfRepository = /^(docs\/decisions\/|ARCHITECTURE|CONTRIBUTING)/.test(page);
  return spans.filter((span) => {
    const [first = '', ...more] = span.split('/');
    const isFile = /\w\.(test\.ts|[cm]?[jt]s|md|sh)$/.test(span);
    const isPath = more.length > 0 && (isFile || places.includes(first) || places.includes(`packages/${first}`));
    // What is built is not tracked.
    if (!(isPath || (isFile && isOfRepository)) || more.includes('dist')) return false;
    const pattern = span
      .replaceAll(/[.]/g, '\\.')
      .replaceAll('*', '[^/]*')
      .replaceAll(/\{([^}]*)\}/g, (_, choices: string) => `(${choices.replaceAll(',', '|')})`);
    const named = new RegExp(`(^|/)${pattern}$`);
    return !places.some((place) => named.test(place));
  });
}

it.each(pages.filter((page) => /^(docs\/|[A-Z]+\.md$)/.test(page) && page !== 'CHANGELOG.md'))(
  'every file that %s names in code exists',
  (page) => expect(missingFilesOf(page)).toEqual([]),
);

/** What the map names: files and folders, each with the top folder that its line belongs to. */
function placesOnMap(): (readonly [named: string, top: string])[] {
  const [, map = ''] = /^```text\n([^]*?)^```$/m.exec(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')) ?? [];
  let top = '';
  return map.split('\n').flatMap((line) => {
    top = /^\S+(?=\/)/.exec(line)?.[0] ?? top;
    return Array.from(line.matchAll(/(?<![\w/@.-])[\w.-]+(?:\/[\w.-]+)*(?:\/(?!\w)|\.(?:ts|mjs|md)\b)/g), ([named]) => [
      named.replace(/\/$/, ''),
      top,
    ]);
  });
}

it('the map of ARCHITECTURE.md names nothing that does not exist', () => {
  const named = placesOnMap();
  expect(named.length).toBeGreaterThan(25);
  const missing = named.filter(
    ([name, top]) => !places.some((place) => `${place}/`.startsWith(`${top}/`) && `/${place}`.endsWith(`/${name}`)),
  );
  expect(missing).toEqual([]);
});
