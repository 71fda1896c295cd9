import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LACKS } from './support/lacks.js';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/databases.md'), 'utf8');
const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  exports: Record<string, unknown>;
};
const rows = new Map(
  [...guide.matchAll(/^\|.*\| `@ambit\/(?:drivers|transaction)\/([\w-]+)`: .*\|$/gm)].map(([row, subpath = '']) => [
    subpath,
    row
      .split('|')
      .map((cell) => cell.trim())
      .at(-2),
  ]),
);

test.each(Object.entries(LACKS))('the guide says what the pool over %s lacks, and nothing else', (name, lacks) => {
  const said = Object.entries(lacks).map(([guarantee, why]) => `${guarantee}: ${why}`);
  expect(rows.get(name)).toBe(said.join('; ') || 'nothing');
});

test('the guide names every pool, and no other', () => {
  expect(Object.keys(manifest.exports).toSorted()).toEqual(
    Object.keys(LACKS)
      .map((name) => `./${name}`)
      .toSorted(),
  );
  expect([...rows.keys()].toSorted()).toEqual([...Object.keys(LACKS), 'postgres', 'sqlite'].toSorted());
});
