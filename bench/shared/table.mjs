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
