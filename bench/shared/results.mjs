import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

const RESULTS = new URL('../results.md', import.meta.url);

/** Not every package exports its package.json, so it is looked for in the `node_modules` folders from here upward. */
export function version(name) {
  if (!name) return '';
  let at = new URL('.', import.meta.url);
  const file = () => new URL(`node_modules/${name}/package.json`, at);
  while (!existsSync(file()) && at.pathname !== '/') at = new URL('..', at);
  return existsSync(file()) ? JSON.parse(readFileSync(file(), 'utf8')).version : '';
}

/** Replaces what stands between the marks of the section in results.md. */
export function write(section, text, runtime = `Node ${process.version}`) {
  const [begin, end] = [`<!-- ${section}: begin -->`, `<!-- ${section}: end -->`];
  const [before, rest] = readFileSync(RESULTS, 'utf8').split(begin);
  const [, after] = rest.split(end);
  const machine = `${cpus().length} x ${cpus()[0].model.trim()}, ${runtime}`;
  writeFileSync(RESULTS, `${before}${begin}\n\nOn ${machine}.\n\n${text}\n\n${end}${after}`);
}

/** A table of Markdown, padded the way the formatter does it; all columns but the first are aligned to the right. */
export function table(heads, rows) {
  const widths = heads.map((_, i) => Math.max(3, ...[heads, ...rows].map((cells) => cells[i].length)));
  const pad = (cell, i) => (i > 0 ? cell.padStart(widths[i]) : cell.padEnd(widths[i]));
  const rule = widths.map((width, i) => (i > 0 ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width)));
  return [heads.map(pad), rule, ...rows.map((cells) => cells.map(pad))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The median of the ratios of measures taken in the same round. */
export const ratio = (these, those) => median(these.map((it, round) => it / those[round]));
