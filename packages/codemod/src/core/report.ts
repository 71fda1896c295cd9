import type { Conversion } from './convert.js';
import type { Finding, Knowledge } from './model.js';

/** The report as text: what was done, what stays and why, and what comes next. `show` shortens a path. */
export function report(conversion: Conversion, library: Knowledge, show: (path: string) => string): string {
  const { converted, left, checks, untouched, files, read } = conversion;
  const count = Array.from(converted.values()).reduce((sum, one) => sum + one, 0);
  const kinds = Array.from(converted).toSorted(([a, x], [b, y]) => y - x || a.localeCompare(b));
  const line = ({ path, line: at, construct, advice }: Finding) =>
    `  ${show(path)}:${at}  ${construct}\n      ${advice}`;
  const part = (title: string, lines: readonly string[]) => (lines.length > 0 ? ['', title, ...lines] : []);
  return [
    `${plural(read, 'file')} read, ${files.length} changed. ${plural(count, 'construct')} converted, ${left.length} left.`,
    ...kinds.map(([kind, number]) => `  ${String(number).padStart(4)}  ${kind}`),
    ...part('Left as it is, since there is no equal:', left.map(line)),
    ...part(
      'Left together with these, since the files work together:',
      untouched.map((path) => `  ${show(path)}`),
    ),
    ...part('Converted, and different from before:', checks.map(line)),
    ...part(
      'Next steps:',
      steps(conversion, library).map((step, i) => `  ${i + 1}. ${step}`),
    ),
  ].join('\n');
}

function steps({ files, left, untouched }: Conversion, { page, containers }: Knowledge): string[] {
  const isChanged = files.length > 0;
  return [
    ...(isChanged ? ['Run your formatter, compile, and run the tests.'] : []),
    ...(left.length > 0
      ? [`Change what is left as the lines above say; docs/coming-from/${page}.md has every construct.`]
      : []),
    ...(untouched.length > 0
      ? [
          `Then run this again: the other files follow.${containers ? ' With --partial they are converted now, and the lines above are for you.' : ''}`,
        ]
      : []),
    ...(isChanged && left.length === 0 ? ['Remove the library from package.json.'] : []),
  ];
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;
