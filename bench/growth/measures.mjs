import { readFileSync } from 'node:fs';

/** `at` is when the round began; `node` to `pages` are per request. */
export const COLUMNS =
  'at work host orders connections count rate p50 p95 p99 node database background blocks read log pages'.split(' ');
export const DEFAULT_FILE = 'growth.tsv';
const TEXTS = ['work', 'host'];

/** All turns of a file that measure.mjs has written. */
export function readMeasures(file) {
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const cells = line.split('\t');
    return Object.fromEntries(COLUMNS.map((name, i) => [name, TEXTS.includes(name) ? cells[i] : Number(cells[i])]));
  });
}
