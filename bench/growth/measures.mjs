import { readFileSync } from 'node:fs';

/** `at` is when the round began; `node` to `pages` are per request. */
export const COLUMNS =
  'at work host orders connections count rate p50 p95 p99 node database background blocks read log pages'.split(' ');
export const DEFAULT_FILE = 'growth.tsv';
const TEXTS = ['work', 'host'];

/** The turns of a file that measure.mjs has written, without those of a round that was interrupted before all sizes had theirs. */
export function readMeasures(file) {
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  const measures = lines.map((line) => {
    const cells = line.split('\t');
    return Object.fromEntries(COLUMNS.map((name, i) => [name, TEXTS.includes(name) ? cells[i] : Number(cells[i])]));
  });
  const same = (one, other) => ['at', 'work', 'host'].every((name) => one[name] === other[name]);
  const turnsOf = (measure) => measures.filter((other) => same(measure, other)).length;
  const complete = Math.max(...measures.map(turnsOf));
  return measures.filter((measure) => turnsOf(measure) === complete);
}
