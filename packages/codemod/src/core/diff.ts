import type { ChangedFile } from './convert.js';

/** The lines that differ, with up to `context` lines around them, as `diff -u` prints them. */
export function diff({ before, after }: ChangedFile, name: string, context = 2): string {
  const [a, b] = [before === '' ? [] : before.split('\n'), after.split('\n')];
  const lines = aligned(a, b);
  const near = lines.map((_, i) =>
    lines.slice(Math.max(0, i - context), i + context + 1).some(({ sign }) => sign !== ' '),
  );
  const out = [`--- ${before === '' ? '/dev/null' : name}`, `+++ ${name}`];
  for (const [i, { sign, text, line }] of lines.entries()) {
    if (!near[i]) continue;
    if (i === 0 || !near[i - 1]) out.push(`@@ line ${line} @@`);
    out.push(sign + text);
  }
  return out.join('\n');
}

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
  /** In the text before, from 1. */
  readonly line: number;
}

/** Both texts side by side, by their longest common subsequence of lines. */
function aligned(a: readonly string[], b: readonly string[]): Line[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const width = y.length + 1;
  const lengths = new Uint32Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        x[i] === y[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0);
  const lines: Line[] = a.slice(0, start).map((text, i) => ({ sign: ' ', text, line: i + 1 }));
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    const line = start + i + 1;
    if (i < x.length && j < y.length && x[i] === y[j]) {
      lines.push({ sign: ' ', text: x[i] ?? '', line });
      i++;
      j++;
    } else if (
      i < x.length &&
      (j === y.length || (lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0))
    )
      lines.push({ sign: '-', text: x[i++] ?? '', line });
    else lines.push({ sign: '+', text: y[j++] ?? '', line });
  }
  return [
    ...lines,
    ...a.slice(a.length - end).map((text, k) => ({ sign: ' ' as const, text, line: a.length - end + k + 1 })),
  ];
}

/** The line before the change that became the line, or the one that it follows. */
export function beforeLine({ before, after }: ChangedFile, line: number): number {
  const [at] = aligned(before.split('\n'), after.split('\n'))
    .filter(({ sign }) => sign !== '-')
    .slice(line - 1);
  return at?.line ?? 1;
}
