import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { command } from '../src/command.js';
import { checks } from '../src/rules/index.js';
import { all, expectedOf, linesOf, type Reported, writeCases } from './cases.js';
import { pageOf } from './pages.js';

let folder: string;
beforeAll(() => void (folder = writeCases()));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command on a file or folder below the one of the cases. */
function reportsOf(path: string): Reported[] {
  const printed: string[] = [];
  command([join(folder, path), '--json'], { print: (text) => void printed.push(text), complain: console.error });
  return (JSON.parse(printed.join('')) as { reports: Reported[] }).reports;
}

it('has cases that each rule reports, and that it does not', () => {
  const kinds = new Set(all.map(({ rule, lines }) => `${rule} ${lines.length > 0}`));
  expect([...kinds].toSorted()).toEqual(checks.flatMap(({ name }) => [`${name} false`, `${name} true`]).toSorted());
});

describe('the command', () => {
  let reports: Reported[];
  beforeAll(() => {
    reports = reportsOf('src').map((each) => ({ ...each, file: each.file.split('/').at(-1) ?? '' }));
  });

  it.each(all)('$rule: $name', (each) => {
    expect(linesOf(reports, each.file)).toEqual(expectedOf(each));
  });
});

describe('the description of a rule', () => {
  it.each(checks)('$name: its wrong program is reported, its right one is not', ({ name, description }) => {
    const { text, wrong, right } = pageOf(name);
    expect(text).toContain(description);
    const reported = [wrong, right].map((code, index) => {
      const file = `${name}-page-${index}.ts`;
      writeFileSync(join(folder, file), code);
      return reportsOf(file).map(({ rule }) => rule);
    });
    expect(reported).toEqual([[name], []]);
  });
});
