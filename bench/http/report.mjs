import { median, table, version } from '../shared/results.mjs';
import { hosts, works } from './contestant.mjs';

/**
 * @typedef {object} Row
 * @property {string} title
 * @property {string} [package]
 * @property {number[]} measures microseconds per request, one for each round
 * @property {number[]} bare what the bare host took in the same rounds
 */

/** @param {{ work: string, host: string, rows: Row[] }[]} results */
export function report(results) {
  return results
    .map(({ work, host, rows }) => {
      const lines = rows.map(({ title, package: name, measures, bare }) => [
        `${title} ${version(name)}`.trim(),
        number(median(measures)),
        number(Math.min(...measures)),
        number(median(measures.map((it, round) => it - bare[round]))),
        number(Math.min(...measures) - Math.min(...bare)),
      ]);
      const heads = ['', 'µs, median', 'µs, least', 'over bare, median', 'over bare, least'];
      const { title, package: name } = hosts[host];
      return `**${work} on ${`${title} ${version(name)}`.trim()}**: ${works[work].title}\n\n${table(heads, lines)}`;
    })
    .join('\n\n');
}

const number = (value) => value.toFixed(2);
