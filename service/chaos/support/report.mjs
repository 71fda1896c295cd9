import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');
const RESULTS = 'service/chaos/results.md';

/** @param {string} text */
export function say(text) {
  process.stdout.write(`${text}\n`);
}

/**
 * A table in Markdown, aligned for readers of the terminal.
 * @param {readonly string[]} head
 * @param {readonly (readonly (string | number)[])[]} rows
 */
export function table(head, rows) {
  const lines = [head, ...rows].map((cells) => cells.map(String));
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  const line = (/** @type {string[]} */ cells) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = '', ...rest] = lines.map(line);
  return [first, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rest].join('\n');
}

/**
 * Prints the results, writes them to the page with `--write`, and sets exit code 1 after a violation.
 * @param {string} section
 * @param {string} text
 * @param {readonly string[]} violations
 * @param {boolean} write
 * @param {string} [page]
 */
export function report(section, text, violations, write, page = RESULTS) {
  say(`\n${text}\n`);
  for (const violation of violations) say(`VIOLATED: ${violation}`);
  if (write) replaceSection(page, section, text);
  process.exitCode = violations.length > 0 ? 1 : 0;
}

/**
 * Replaces the text between the marks of the section.
 * @param {string} page
 * @param {string} section
 * @param {string} text
 */
function replaceSection(page, section, text) {
  const file = resolve(ROOT, page);
  const [begin, end] = [`<!-- ${section}: begin -->`, `<!-- ${section}: end -->`];
  const results = readFileSync(file, 'utf8');
  const [from, to] = [results.indexOf(begin), results.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page} has no marks ${begin} and ${end}`);
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}, Node ${process.version}`;
  const section_ = `${begin}\n\n\`${command()}\` on ${machine}:\n\n${text}\n\n`;
  writeFileSync(file, results.slice(0, from) + section_ + results.slice(to));
}

function command() {
  const given = process.argv.slice(2).filter((argument) => argument !== '--write');
  const options = given.map((argument) => (argument.includes(' ') ? `'${argument}'` : argument));
  return ['node', relative(ROOT, process.argv[1] ?? ''), ...options].join(' ');
}
