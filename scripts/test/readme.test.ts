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
  it.each([
    ['Run the service', 'npm ci && npm start'],
    ['Tests', 'npm ci && npm test'],
  ])('has under "%s" one command that a fresh clone needs: %s', (heading, command) => {
    expect(/```sh\n([^`]*)```/.exec(section(heading))?.[1]).toBe(`${command}\n`);
  });

  it('names only npm commands that exist', () => {
    const known = ['ci', 'create', 'init', 'install', 'pack', 'registry', 'start', 'test', ...Object.keys(scripts)];
    const named = Array.from(readme.matchAll(/npm (?:run )?(?:--silent )?([a-z][a-z-]+)/g), ([, name]) => name);
    expect(named.filter((name = '') => !known.includes(name))).toEqual([]);
  });

  it('shows under "Benchmarks" only figures that bench/results.md has', () => {
    const rows = section('Benchmarks').match(/^\|.*\|$/gm) ?? [];
    const figures = rows.join('\n').match(NUMBER) ?? [];
    const measured = new Set(results.match(NUMBER));
    expect(figures.filter((figure) => !measured.has(figure))).toEqual([]);
    expect(figures.length).toBeGreaterThan(30);
  });
});
