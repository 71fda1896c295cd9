import { median, ratio, table, version } from '../shared/results.mjs';
import { databases } from './contestant.mjs';
import { works } from './works.mjs';

/** The hand-written contestant that each other one is compared with. */
export const BASE = 'ambit';

/** Who is compared with whom: the hand-written code on the same host. */
const HAND_WRITTEN = { ambit: 'hand', 'ambit-express': 'hand-express' };

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

/**
 * Requests per second of the server's CPU, as a part of what the hand-written code on the same host manages in the same
 * round: below 1.00 the hand-written code wins.
 */
export function summary(results, contestants) {
  const names = Object.keys(contestants).filter((name) => HAND_WRITTEN[name] in contestants);
  const head = ({ title }, { title: other }) => `${title} / ${other}`;
  const heads = [
    'requests per second of CPU',
    ...names.map((name) => head(contestants[name], contestants[HAND_WRITTEN[name]])),
  ];
  const rows = results.map(({ database, work, measures }) => [
    `${works[work].title}, ${databases[database]}`,
    ...names.map((name) => number(ratio(cpuOf(measures[HAND_WRITTEN[name]]), cpuOf(measures[name])))),
  ]);
  return table(heads, rows);
}

function details({ database, work, measures }, contestants) {
  const withDatabase = Object.values(measures).every((all) =>
    all.every(({ databaseCpu }) => databaseCpu !== undefined),
  );
  const rows = Object.entries(contestants).map(([name, { title, package: from }]) => {
    const cpu = cpuOf(measures[name]);
    const handWritten = measures[HAND_WRITTEN[name] ?? name];
    const ofDatabase = measures[name].map(({ databaseCpu }) => databaseCpu);
    return [
      `${title} ${version(from)}`,
      number(median(cpu)),
      number(Math.min(...cpu)),
      ...(withDatabase ? [number(median(ofDatabase))] : []),
      handWritten ? number(ratio(cpuOf(handWritten), cpu)) : '-',
      Math.round(median(measures[name].map(({ rate }) => rate))).toLocaleString('en'),
    ];
  });
  const heads = [
    '',
    'µs of Node, median',
    'µs of Node, least',
    ...(withDatabase ? ['µs of PostgreSQL, median'] : []),
    'hand-written = 1',
    'requests/s',
  ];
  return `**${works[work].title}**, ${databases[database]}\n\n${table(heads, rows)}`;
}

const cpuOf = (measures) => measures.map(({ cpu }) => cpu);

const number = (value) => value.toFixed(value >= 100 ? 0 : 2);
