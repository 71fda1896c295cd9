import type { Conversion } from './convert.js';
import type { Finding, LibraryName } from './model.js';

/** What was done and what is left, as text. `show` shortens a path. */
export function report(conversion: Conversion, library: LibraryName, show: (path: string) => string): string {
  const { converted, left, checks, files, read } = conversion;
  const count = total(converted);
  const kinds = Array.from(converted).toSorted(([a, x], [b, y]) => y - x || a.localeCompare(b));
  const line = ({ path, line: at, construct, advice }: Finding) =>
    `  ${show(path)}:${at}  ${construct}\n      ${advice}`;
  return [
    `${plural(read, 'file')} read, ${files.length} changed. ${plural(count, 'construct')} converted, ${left.length} left.`,
    ...kinds.map(([kind, number]) => `  ${String(number).padStart(4)}  ${kind}`),
    ...(left.length > 0 ? ['', 'Left for you:', ...left.map(line)] : []),
    ...(checks.length > 0 ? ['', 'Converted, and different from before:', ...checks.map(line)] : []),
    ...(left.length + checks.length > 0 ? ['', `What to write instead: docs/coming-from/${library}.md`] : []),
  ].join('\n');
}

/** How many constructs were converted. */
const total = (converted: ReadonlyMap<string, number>): number =>
  Array.from(converted.values()).reduce((sum, one) => sum + one, 0);

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
