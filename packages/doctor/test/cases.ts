import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A program, and the lines on which the rule reports something. */
export interface Case {
  readonly name: string;
  readonly rule: string;
  readonly code: string;
  readonly lines: readonly number[];
  readonly ts: boolean;
  /** The name of the file that has it. */
  readonly file: string;
}

/** The cases of cases.txt: run by the command, by oxlint, and by ESLint 9 and 10. */
export const all: readonly Case[] = readFileSync(join(import.meta.dirname, 'cases.txt'), 'utf8')
  .split(/^# /m)
  .slice(1)
  .flatMap((section) => {
    const [rule = '', ...cases] = section.split(/\n## /);
    return cases.map((text, index): Case => {
      const [title = '', ...code] = text.split('\n');
      const [name = '', language] = title.split(' | ');
      const lines = code.flatMap((line, at) => (line.endsWith('// reported') ? [at + 1] : []));
      const file = `${rule}-${index}.${language ?? 'js'}`;
      return { name, rule, code: code.join('\n'), lines, ts: language === 'ts', file };
    });
  });

/** Makes a folder that has each case as a file in `src`. */
export function writeCases(): string {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  mkdirSync(join(folder, 'src'));
  for (const { file, code } of all) writeFileSync(join(folder, 'src', file), code);
  return folder;
}

export interface Reported {
  readonly file: string;
  readonly rule: string;
  readonly line: number;
}

/** The lines that a rule reports in its case; a line of another rule's case is a mistake, too. */
export const linesOf = (reports: readonly Reported[], file: string) =>
  reports.filter((each) => each.file === file).map(({ rule, line }) => `${line} ${rule}`);

export const expectedOf = ({ lines, rule }: Case) => lines.map((line) => `${line} ${rule}`);
