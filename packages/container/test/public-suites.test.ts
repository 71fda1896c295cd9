import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const here = new URL('.', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, here), 'utf8');

/** Titles are compared as one text: `%s` stands for a case, quotes and line breaks differ between Markdown and code. */
const plain = (text: string): string => text.replaceAll(/[’'`\\]/g, "'").replaceAll(/\s+/g, ' ');

const inventory = read('public-suites.md');
const references = [...inventory.matchAll(/\[([\w-]+)\] ((?:“[^”]+”(?:, )?)+)/g)].flatMap(
  ([, name = '', titles = '']) =>
    [...titles.matchAll(/“([^”]+)”/g)].map(([, title = '']): [string, string] => [name, title]),
);
const files = new Map(
  [...inventory.matchAll(/^\[([\w-]+)\]: \.\/(.+)$/gm)].map(([, name = '', path = '']) => [name, path]),
);

describe('the inventory of public test suites', () => {
  it('names tests of this folder only', () => {
    const known = readdirSync(here, { recursive: true, encoding: 'utf8' });

    expect([...files.values()].filter((path) => !known.includes(path))).toEqual([]);
    expect(references.length).toBeGreaterThan(140);
  });

  it.each(references)('names a test that exists: [%s] “%s”', (name, title) => {
    expect(plain(read(files.get(name) ?? 'unknown')).includes(plain(title))).toBe(true);
  });
});
