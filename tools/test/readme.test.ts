import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const results = readFileSync(join(root, 'bench/results.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const NUMBER = /\d[\d.,]*\d/g;

function section(heading: string): string {
  return readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
}

describe('README.md', () => {
  it('begins with the two commands that a fresh clone needs, each alone in its block', () => {
    const commands = Array.from(readme.matchAll(/^```sh\n([^`]*)```$/gm), ([, body]) => body);
    expect(commands.slice(0, 2)).toEqual(['npm ci && npm start\n', 'npm ci && npm test\n']);
  });

  it('names only npm commands that exist', () => {
    const known = ['ci', 'create', 'init', 'install', 'pack', 'registry', 'start', 'test', ...Object.keys(scripts)];
    const named = Array.from(readme.matchAll(/npm (?:run )?(?:--silent )?([a-z][a-z-]+)/g), ([, name]) => name);
    expect(named.filter((name = '') => !known.includes(name))).toEqual([]);
  });

  it('claims on the front page of the site only figures that the page beside the claim has', () => {
    const front = readFileSync(join(root, 'site/index.md'), 'utf8');
    const [, claims = ''] = /^## Three claims$([^]*?)^## /m.exec(front) ?? [];
    const cards = claims.split(/^### /m).slice(1);
    const wrong = cards.flatMap((card) => {
      const [, path = ''] = /\]\(\.\.\/([^)#]+)/.exec(card) ?? [];
      const figuresOf = (text: string): string[] => Array.from(text.matchAll(/\d[\d.,]*\d|\d/g), ([figure]) => figure);
      const proof = new Set(figuresOf(readFileSync(join(root, path), 'utf8')));
      const unproved = figuresOf(card.slice(0, card.indexOf(']('))).filter((figure) => !proof.has(figure));
      return unproved.map((figure) => `${path}: ${figure}`);
    });
    expect(wrong).toEqual([]);
    expect(cards.map((card) => /\d/.test(card))).toEqual([true, true, true]);
  });

  it('shows under "Benchmarks" only figures that bench/results.md has', () => {
    const rows = section('Benchmarks').match(/^\|.*\|$/gm) ?? [];
    const figures = rows.join('\n').match(NUMBER) ?? [];
    const measured = new Set(results.match(NUMBER));
    expect(figures.filter((figure) => !measured.has(figure))).toEqual([]);
    expect(figures.length).toBeGreaterThan(8);
  });
});
