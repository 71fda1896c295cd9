import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const sections = readFileSync(join(import.meta.dirname, '../../../docs/rules.md'), 'utf8').split(/^## /m);

/** The section of docs/rules.md about a rule, and its program: wrong with the lines `-`, right with those `+`. */
export function pageOf(rule: string): { readonly text: string; readonly wrong: string; readonly right: string } {
  const text = sections.find((section) => section.startsWith(`${rule}\n`)) ?? '';
  const [, diff = ''] = /^```diff\n([^]*?)^```$/m.exec(text) ?? [];
  return {
    text,
    wrong: diff.replaceAll(/^\+.*\n/gm, '').replaceAll(/^[- ]/gm, ''),
    right: diff.replaceAll(/^-.*\n/gm, '').replaceAll(/^[+ ]/gm, ''),
  };
}
