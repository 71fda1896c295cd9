import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checks } from '../src/rules/index.js';
import { run } from '../src/run.js';
import { all, cases, expectedOf, linesOf, type Reported } from './cases.js';
import { pageOf } from './pages.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  mkdirSync(join(folder, 'src'));
  for (const { file, code } of all) writeFileSync(join(folder, 'src', file), code);
});
afterAll(() => rmSync(folder, { recursive: true }));

it('has cases that each rule reports, and that it does not', () => {
  expect(Object.keys(cases).toSorted()).toEqual(checks.map(({ name }) => name).toSorted());
  for (const list of Object.values(cases)) {
    expect(list.some(({ lines = [] }) => lines.length > 0)).toBe(true);
    expect(list.some(({ lines = [] }) => lines.length === 0)).toBe(true);
  }
});

describe('the command', () => {
  let reports: Reported[];
  beforeAll(() => {
    const printed: string[] = [];
    run([join(folder, 'src'), '--json'], (text) => void printed.push(text), console.error);
    const { reports: found } = JSON.parse(printed.join('')) as { reports: Reported[] };
    reports = found.map((each) => ({ ...each, file: each.file.split('/').at(-1) ?? '' }));
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
      const file = join(folder, `${name}-page-${index}.ts`);
      writeFileSync(file, code);
      const printed: string[] = [];
      run([file, '--json'], (line) => void printed.push(line), console.error);
      return (JSON.parse(printed.join('')) as { reports: Reported[] }).reports.map(({ rule }) => rule);
    });
    expect(reported).toEqual([[name], []]);
  });
});
