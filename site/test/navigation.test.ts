import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { titleOf } from '../markdown.mjs';
import { sectionsIn } from '../navigation.mjs';
import { folder } from '../serve.mjs';

const read = (page: string): string => readFileSync(join(folder, page), 'utf8');

describe('the sidebar', () => {
  const sections = sectionsIn(read('documentation.md'));

  it('has names that say something alone: a name, a title, or a package', () => {
    const wrong = sections
      .flatMap(({ items }) => items)
      .filter(({ text, link }) => {
        const title = titleOf(read(link.replace(/#.*/, ''))).toLowerCase();
        return !/^[A-Z@]|^npm /.test(text) && !title.includes(text.toLowerCase());
      });
    expect(wrong).toEqual([]);
    expect(sections.length).toBeGreaterThan(5);
  });

  it('has each name and each page once in a section', () => {
    for (const { items } of sections) {
      expect(items.map(({ text }) => text)).toEqual([...new Set(items.map(({ text }) => text))]);
      expect(items.map(({ link }) => link)).toEqual([...new Set(items.map(({ link }) => link))]);
    }
  });
});

it('says on every page with an installation what takes its place until the packages are published', () => {
  const pages = ['guides', 'packages', '.'].flatMap((path) =>
    readdirSync(join(folder, path)).flatMap((name) => (/^[a-z-]+\.md$/.test(name) ? [join(path, name)] : [])),
  );
  const installing = pages.filter((page) => /^npm install .*@ambit/m.test(read(page)));
  expect(installing.length).toBeGreaterThan(10);
  expect(installing.filter((page) => !read(page).includes('not on the npm registry yet'))).toEqual([]);
});

it.each(readdirSync(join(folder, 'guides')).filter((name) => name.endsWith('.md')))(
  'guides/%s begins with the problem in the words of one who has it',
  (name) => {
    const [, problem = ''] = read(`guides/${name}`).split('\n\n');
    expect(problem).toMatch(/^You have [^\n]+, [^\n]+\.$/);
  },
);
