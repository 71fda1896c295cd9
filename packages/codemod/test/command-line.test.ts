import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { run } from '../src/run.js';

const folder = mkdtempSync(join(tmpdir(), 'codemod-'));
afterAll(() => rmSync(folder, { recursive: true }));

const BEFORE = "import { injectable } from 'tsyringe';\n\n@injectable()\nexport class Users {}\n";
const file = join(folder, 'users.ts');

function started(...args: string[]) {
  writeFileSync(file, BEFORE);
  const printed: string[] = [];
  const complained: string[] = [];
  const code = run(
    args,
    (text) => void printed.push(text),
    (text) => void complained.push(text),
  );
  return { code, printed: printed.join('\n'), complained: complained.join('\n'), after: readFileSync(file, 'utf8') };
}

test('without --write it prints the changes and writes nothing', () => {
  const { code, printed, after } = started('tsyringe', folder);
  expect(code).toBe(0);
  expect(after).toBe(BEFORE);
  expect(printed).toContain('-@injectable()');
  expect(printed).toContain('1 file read, 1 changed. 1 construct converted, 0 left.');
});

test('with --write it writes them', () => {
  expect(started('tsyringe', folder, '--write')).toMatchObject({ code: 0, after: '\nexport class Users {}\n' });
});

test.each([
  [[], 'Name a library'],
  [['spring', folder], "Unknown library 'spring'"],
  [['tsyringe'], 'Name files or folders'],
  [['tsyringe', join(folder, 'nothing')], 'There is no'],
  [['tsyringe', folder, '--force'], 'Unknown option --force'],
])('wrong usage %j is refused with exit code 2', (args, why) => {
  const { code, complained, after } = started(...args);
  expect(code).toBe(2);
  expect(complained).toContain(why);
  expect(after).toBe(BEFORE);
});
