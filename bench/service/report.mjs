import { version } from '../results.mjs';
import { median, ratio, table } from '../shared/table.mjs';
import { databases } from './contestant.mjs';
import { works } from './works.mjs';

/** The contestant that the others are compared with. */
export const BASE = 'ambit';

/**
 * @typedef {object} Result
 * @property {string} database
 * @property {string} work
 * @property {Record<string, import('../shared/servers.mjs').Measure[]>} measures contestant -> one for each round
 */

/**
 * @param {Result[]} results
 * @param {Record<string, import('./contestant.mjs').Contestant>} contestants
 */
export function report(results, contestants) {
  return [summary(results, contestants), ...results.map((result) => details(result, contestants))].join('\n\n');
}

/** The CPU time of each as a part of what ambit takes, in the same round. */
function summary(results, contestants) {
  const names = Object.keys(contestants).filter((name) => name !== BASE);
  const heads = [`CPU / that of ${contestants[BASE].title}`, ...names.map((name) => contestants[name].title)];
  const rows = results.map(({ database, work, measures }) => [
    `${works[work].title}, ${databases[database]}`,
    ...names.map((name) => number(ratio(cpuOf(measures[name]), cpuOf(measures[BASE])))),
  ]);
  return table(heads, rows);
}

function details({ database, work, measures }, contestants) {
  const base = cpuOf(measures[BASE]);
  const rows = Object.entries(contestants).map(([name, { title, package: from }]) => {
    const cpu = cpuOf(measures[name]);
    return [
      `${title} ${version(from)}`,
      number(median(cpu)),
      number(Math.min(...cpu)),
      number(ratio(cpu, base)),
      number(Math.min(...cpu) / Math.min(...base)),
      Math.round(median(measures[name].map(({ rate }) => rate))).toLocaleString('en'),
    ];
  });
  const heads = ['', 'µs, median', 'µs, least', '/ ambit, median', '/ ambit, least', 'requests/s'];
  return `**${works[work].title}**, ${databases[database]}\n\n${table(heads, rows)}`;
}

const cpuOf = (measures) => measures.map(({ cpu }) => cpu);

const number = (value) => value.toFixed(value >= 100 ? 0 : 2);
