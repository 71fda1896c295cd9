import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
const sections = new Map(
  page
    .split(/^### /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text] as const),
);
const folders = readdirSync(join(root, 'packages')).filter((name) => {
  const manifest = join(root, 'packages', name, 'package.json');
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).private !== true;
});

/** The codes that the source of a package names: in its tables, in what it throws and in what it documents. */
function codesInSource(folder: string): string[] {
  const files = readdirSync(join(root, 'packages', folder, 'src'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap(
      (file) => readFileSync(join(root, 'packages', folder, 'src', file), 'utf8').match(/\bAMBIT(_[A-Z]+)+\b/g) ?? [],
    );
}

const named = [...new Set(folders.flatMap(codesInSource))].toSorted();

describe('docs/errors.md', () => {
  it('has a heading for every code of every package, and no other', () => {
    expect([...sections.keys()].toSorted()).toEqual(named);
  });

  it('has at most 60 codes: one for each thing that a caller does about them', () => {
    expect(named.length).toBeGreaterThan(30);
    expect(named.length).toBeLessThanOrEqual(60);
  });

  it('has each heading once, so that its anchor leads there', () => {
    expect(page.match(/^### /gm)).toHaveLength(sections.size);
  });

  it.each([...sections])('says what %s means, and how to fix it', (_, text) => {
    const [meaning = '', fix = ''] = text.slice(text.indexOf('\n')).split('**Fix:**');
    expect(meaning.trim()).toMatch(/.{20}/);
    expect(fix.trim()).toMatch(/\w.{9}/);
  });

  it.each(['circular dependency', 'captive dependency', 'connection pool exhausted', 'deadlock', 'request aborted'])(
    'is found by who searches for "%s"',
    (words) => expect(page.toLowerCase()).toContain(words),
  );
});
