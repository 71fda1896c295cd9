import { table } from '../shared/table.mjs';
import { cell, number } from './cells.mjs';
import { compared, figure, isMemory, judge, measuresOf, rowsOf } from './targets.mjs';
import { works } from './works.mjs';

/**
 * The tables of what lies off the main path, and of the targets that were measured; nothing where none of it was.
 *
 * @param {import('./report.mjs').Results} results
 */
export function cliffs(results) {
  const names = Object.keys(results.works).filter((work) => works[work]?.cliff);
  const verdicts = judge(results);
  const parts = [];
  if (names.length > 0) parts.push(cliffsTable(names, results));
  if (verdicts.length > 0) parts.push(targetsTable(verdicts));
  const failures = failuresOf(results);
  if (failures.length > 0) parts.push(failures.join('\n'));
  return parts.length > 0 ? parts.join('\n\n') : undefined;
}

function cliffsTable(names, results) {
  const columns = [...results.contestants].filter(([, { cliffs: takesPart }]) => takesPart);
  const rows = names.flatMap(rowsOf).map((row) => {
    const measure = row.split(': ')[1];
    const by = measuresOf(row, results);
    const to = (other) =>
      Array.isArray(by.ambit) && Array.isArray(by[other]) && !isMemory(row)
        ? number(compared(by.ambit, by[other], row, other))
        : '-';
    const cells = columns.map(([name]) => cell(by[name], figure(row)));
    return [labelOf(row), measure?.split(' ')[0] ?? 'ns', ...cells, to('main'), to('inferdi')];
  });
  const heads = ['', '', ...columns.map(([, { title }]) => title), 'ambit / its main', 'ambit / inferdi'];
  return `**cliffs**: off the main path; the least of all rounds, and the median of megabytes\n\n${table(heads, rows)}`;
}

/** What the work is stands in the first of its rows. */
function labelOf(row) {
  const [work, measure] = row.split(': ');
  const { title, measures } = works[work];
  if (!measures) return `${work}: ${title}`;
  const first = Object.keys(measures)[0] === measure;
  return `${work}: ${first ? `${title}, ` : ''}${measures[measure]}`;
}

const BESIDE = { main: 'ambit / its main', hand: 'ambit / hand-written', inferdi: 'ambit / inferdi' };

function targetsTable(verdicts) {
  const rows = verdicts.map(({ row, to, most, got, failed, kept }) => [
    row,
    BESIDE[to] ?? row.split(': ')[1],
    number(most),
    failed ? 'fails' : number(got),
    kept ? 'kept' : 'missed',
  ]);
  return `**targets**\n\n${table(['', '', 'at most', 'measured', ''], rows)}`;
}

function failuresOf({ contestants, works: measured, flat }) {
  const all = [...Object.entries(measured), ...Object.entries(flat)];
  return all.flatMap(([title, by]) =>
    Object.entries(by)
      .filter(([, it]) => it instanceof Error)
      .map(([name, { message }]) => `- ${contestants.get(name)?.title ?? name} fails at ${title}: ${message}`),
  );
}
