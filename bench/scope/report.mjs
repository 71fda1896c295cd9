import { version } from '../results.mjs';
import { median, ratio, table } from '../shared/table.mjs';
import { cell, number } from './cells.mjs';
import { works } from './works.mjs';

/**
 * @typedef {object} Results
 * @property {string} base the contestant that the others are compared with
 * @property {Map<string, import('./contestant.mjs').Contestant>} contestants
 * @property {Record<string, Measures>} works work -> contestant, or `main` for ambit's main -> what each round gave
 * @property {Record<string, Measures>} flat contestant -> work -> what each round gave
 *
 * @typedef {Record<string, import('./interleave.mjs').Measure[] | Error>} Measures
 */

/** The tables of the main path; nothing where none of it was measured. @param {Results} results */
export function report({ base, contestants, works: measured, flat }) {
  const parts = [];
  for (const [work, by] of Object.entries(measured)) {
    if (works[work]?.cliff) continue;
    parts.push(work === 'bytes' ? bytesTable(contestants, by) : workTable(work, contestants, by, base));
  }
  if (Object.keys(flat).length > 0) parts.push(flatTable(contestants, flat));
  return parts.length > 0 ? [contestantsTable(contestants), ...parts].join('\n\n') : undefined;
}

function contestantsTable(contestants) {
  const rows = [...contestants.values()].map((it) => [it.title, version(it.package), it.scopes, it.disposal]);
  return table(['contestant', 'version', 'services of a request', 'disposal'], rows);
}

function workTable(work, contestants, by, base) {
  const rows = [...contestants].map(([name, { title }]) => {
    const all = by[name];
    if (!Array.isArray(all) || !Array.isArray(by[base])) return [title, all ? 'fails' : '-', '-', '-', '-'];
    const toAmbit = Array.isArray(by.ambit) ? number(ratio(all, by.ambit)) : '-';
    return [title, number(median(all)), number(Math.min(...all)), number(ratio(all, by[base])), toAmbit];
  });
  const heads = ['', 'ns, median', 'ns, least', '/ hand-written', '/ ambit'];
  return `**${work}**: ${works[work].title}\n\n${table(heads, rows)}`;
}

function bytesTable(contestants, by) {
  const rows = [...contestants].map(([name, { title }]) => [title, cell(by[name])]);
  return `**bytes** that an open scope with three objects resolved holds, 20 registrations\n\n${table(['', 'bytes'], rows)}`;
}

/** Compares the least of all rounds, which is steadier than the median where the differences are small. */
function flatTable(contestants, flat) {
  const rows = Object.entries(flat).map(([name, by]) => {
    const grown = (large, small) =>
      Array.isArray(by[large]) && Array.isArray(by[small])
        ? number(Math.min(...by[large]) / Math.min(...by[small]))
        : '-';
    return [
      contestants.get(name).title,
      grown('empty, 5,000 registrations', 'empty, 20 registrations'),
      grown('main, 5,000 registrations', 'main, 20 registrations'),
      grown('live', 'main'),
    ];
  });
  const heads = [
    '',
    'empty, 5,000 / 20 registrations',
    'main, 5,000 / 20 registrations',
    'main, 10,000 / 0 open scopes',
  ];
  return `**flat**: what a larger application costs (the hand-written rows show the noise)\n\n${table(heads, rows)}`;
}
