import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `at` is when the services of the turn were started, and `start` how long that took; from `node` on per request. */
const COLUMNS =
  'at pass work host size orders connections start count rate p50 p95 p99 node database pages rows scanned log'.split(
    ' ',
  );
const TEXTS = ['work', 'host', 'size'];

export const fileOf = (folder, dialect, host, connections) => join(folder, `${dialect}-${host}-${connections}.tsv`);

/** A line for a turn, with tabs between. */
export function appendMeasure(file, measure) {
  if (!existsSync(file)) appendFileSync(file, `${COLUMNS.join('\t')}\n`);
  appendFileSync(file, `${COLUMNS.map((name) => textOf(measure[name])).join('\t')}\n`);
}

function textOf(value) {
  if (typeof value !== 'number') return value ?? '';
  return Number.isInteger(value) ? String(value) : value.toPrecision(5);
}

/**
 * The passes of a file, each with the turns of all sizes on one work, without one that was interrupted.
 *
 * @returns {Record<string, number & string>[][]}
 */
export function readPasses(file) {
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  const passes = new Map();
  for (const line of lines) {
    const cells = line.split('\t');
    const read = (name, text) => (TEXTS.includes(name) ? text : text === '' ? undefined : Number(text));
    const turn = Object.fromEntries(COLUMNS.map((name, i) => [name, read(name, cells[i])]));
    const key = [turn.at, turn.pass, turn.work].join(' ');
    passes.set(key, [...(passes.get(key) ?? []), turn]);
  }
  const complete = Math.max(...[...passes.values()].map(({ length }) => length));
  return [...passes.values()].filter(({ length }) => length === complete);
}
