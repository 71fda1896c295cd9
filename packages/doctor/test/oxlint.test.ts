import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checks } from '../src/rules/index.js';
import { all, expectedOf, linesOf, type Reported, writeCases } from './cases.js';

const root = join(import.meta.dirname, '../../..');

let folder: string;
beforeAll(() => void (folder = writeCases()));
afterAll(() => rmSync(folder, { recursive: true }));

describe('oxlint', () => {
  let reports: Reported[];
  beforeAll(() => {
    const plugin = join(import.meta.dirname, '../dist/index.js');
    const rules = Object.fromEntries(checks.map(({ name }) => [`ambit/${name}`, 'error']));
    const config = join(folder, 'oxlint.json');
    writeFileSync(
      config,
      JSON.stringify({ categories: { correctness: 'off' }, jsPlugins: [{ name: 'ambit', specifier: plugin }], rules }),
    );
    const oxlint = [join(root, 'tools/on-node.mjs'), 'oxlint'];
    const { stdout, stderr } = spawnSync(process.execPath, [...oxlint, '-c', config, '--format', 'json', 'src'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const start = stdout.indexOf('{');
    if (start === -1) throw new Error(stdout + stderr);
    const { diagnostics } = JSON.parse(stdout.slice(start)) as {
      diagnostics: { code: string; filename: string; labels: { span: { line: number } }[] }[];
    };
    reports = diagnostics
      .map(({ code, filename, labels }) => ({
        file: filename.split('/').at(-1) ?? '',
        rule: /\((.*)\)/.exec(code)?.[1] ?? code,
        line: labels[0]?.span.line ?? 0,
      }))
      .toSorted((a, b) => a.line - b.line);
  });

  it.each(all)('$rule: $name', (each) => {
    expect(linesOf(reports, each.file)).toEqual(expectedOf(each));
  });
});
