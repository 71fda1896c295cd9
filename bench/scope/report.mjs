import { median, ratio, table, version } from '../shared/results.mjs';
import { targets, works } from './works.mjs';

/**
 * @typedef {object} Results
 * @property {string} base the contestant that the others are compared with
 * @property {Map<string, import('./contestants.mjs').Contestant>} contestants
 * @property {Record<string, Record<string, number[]>>} works work -> contestant -> what each round gave
 */

/** @param {Results} results */
export function report({ base, contestants, works: measured }) {
  const parts = Object.entries(measured).map(([work, by]) => workTable(work, contestants, by, base));
  return [contestantsTable(contestants), ...parts].join('\n\n');
}

function contestantsTable(contestants) {
  const rows = [...contestants.values()].map((it) => [it.title, version(it.package), it.scopes, it.disposal]);
  return table(['contestant', 'version', 'services of a request', 'disposal'], rows);
}

function workTable(work, contestants, by, base) {
  const rows = [...contestants].map(([name, { title }]) => {
    const all = by[name] ?? [];
    const times = (other) => (other ? number(ratio(all, other)) : '-');
    return [title, number(median(all)), number(Math.min(...all)), times(by[base]), times(by.ambit)];
  });
  const heads = ['', 'ns, median', 'ns, least', '/ hand-written', '/ ambit'];
  return `**${work}**: ${works[work].title}\n\n${table(heads, rows)}`;
}

/**
 * The works at which Ambit costs more than its target, as sentences. Of each side the least of all rounds counts: neighbours on the
 * machine can only add to it.
 *
 * @param {Results} results
 */
export function missedTargets({ base, works: measured }) {
  return Object.entries(targets).flatMap(([work, most]) => {
    const { ambit, [base]: hand } = measured[work] ?? {};
    if (!ambit || !hand) return [];
    const times = Math.min(...ambit) / Math.min(...hand);
    return times <= most ? [] : [`${work}: ${number(times)} times hand-written, ${number(most)} is the target`];
  });
}

function number(value) {
  if (Math.abs(value) < 0.005) return '0.00';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
