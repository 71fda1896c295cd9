import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const NUMBER = /\d[\d.,]*\d/g;

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const readme = read('README.md');

describe('README.md', () => {
  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: object };
    const named = Array.from(readme.matchAll(/npm (?:run )?(?:--silent )?([a-z][a-z-]+)/g), ([, name = '']) => name);
    const ofNpm = ['ci', 'install', 'pack'];
    expect(named.filter((name) => !ofNpm.includes(name) && !(name in scripts))).toEqual([]);
  });

  it('repeats only numbers that were measured', () => {
    const section = readme.split(/^## /m).find((text) => text.startsWith('Benchmarks\n')) ?? '';
    const cells = section.split('\n').filter((line) => line.startsWith('|'));
    const numbers = cells.join('\n').match(NUMBER) ?? [];
    const measured = new Set(read('bench/results.md').match(NUMBER));
    expect(numbers.filter((number) => !measured.has(number))).toEqual([]);
    expect(numbers.length).toBeGreaterThan(3);
  });
});
