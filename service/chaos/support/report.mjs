import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename } from 'node:path';

const RESULTS = new URL('../results.md', import.meta.url);

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
 * Prints the results, writes them to results.md with `--write`, and sets exit code 1 after a violation.
 * @param {string} section
 * @param {string} text
 * @param {readonly string[]} violations
 * @param {boolean} write
 */
export function report(section, text, violations, write) {
  say(`\n${text}\n`);
  for (const violation of violations) say(`VIOLATED: ${violation}`);
  if (write) replaceSection(section, text);
  process.exitCode = violations.length > 0 ? 1 : 0;
}

/**
 * Replaces the text between the marks of the section in results.md.
 * @param {string} section
 * @param {string} text
 */
function replaceSection(section, text) {
  const [begin, end] = [`<!-- ${section}: begin -->`, `<!-- ${section}: end -->`];
  const results = readFileSync(RESULTS, 'utf8');
  const [from, to] = [results.indexOf(begin), results.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`results.md has no marks ${begin} and ${end}`);
  const machine = `${cpus().length} x ${cpus()[0]?.model.trim()}, Node ${process.version}`;
  const section_ = `${begin}\n\n\`${command()}\` on ${machine}:\n\n${text}\n\n`;
  writeFileSync(RESULTS, results.slice(0, from) + section_ + results.slice(to));
}

function command() {
  const options = process.argv.slice(2).filter((argument) => argument !== '--write');
  return ['node', `service/chaos/${basename(process.argv[1] ?? '')}`, ...options].join(' ');
}
