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
 * A table with a column for each run, and a row for each count.
 * @param {readonly { title: string, counts: Readonly<Record<string, number>> }[]} runs
 */
export function tableOfCounts(runs) {
  const measures = [...new Set(runs.flatMap(({ counts }) => Object.keys(counts)))];
  return table(
    ['', ...runs.map(({ title }) => title)],
    measures.map((measure) => [measure, ...runs.map(({ counts }) => counts[measure] ?? '')]),
  );
}

/**
 * Prints the results, and sets exit code 1 after a violation.
 * @param {string} text
 * @param {readonly string[]} violations
 */
export function report(text, violations) {
  say(`\n${text}\n`);
  for (const violation of violations) say(`VIOLATED: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}
