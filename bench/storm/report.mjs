import { table, version } from '../shared/results.mjs';

const LINES = [
  ['requests sent', (it) => number(it.requests)],
  ['connections: aborted', (it) => share(it.aborted, it.visits)],
  ['connections: pipelined', (it) => share(it.pipelined, it.visits)],
  ['connections: upload cut', (it) => share(it.cut, it.visits)],
  ['request scopes opened', (it) => number(it.opened)],
  ['**request scopes still open**', (it) => `${number(it.open)} (${share(it.open, it.opened)})`],
  ['**connections not returned**', (it) => number(it.out)],
  ['orders acknowledged', (it) => number(it.acknowledged.length)],
  ['**acknowledged and not stored**', (it) => number(it.missing)],
  ['**half stored**', (it) => number(it.half)],
  ['**unhandled rejections**', (it) => number(it.rejections)],
  ['**uncaught exceptions**', (it) => number(it.exceptions)],
  ['**process warnings**', (it) => number(it.warnings)],
];

/** One column for each contestant. What is bold should be 0. */
export function report(results, { seconds, sockets }) {
  const heads = ['', ...results.map((it) => `${it.title} ${version(it.package)}`)];
  const rows = LINES.map(([title, show]) => [title, ...results.map(show)]);
  return `**storm** of ${sockets} sockets for ${seconds} s on each server\n\n${table(heads, rows)}`;
}

/** The exit code: whether something of ours is not 0. */
export function judge(results) {
  const ours = results.filter((it) => it.package.startsWith('@ambit/'));
  const sum = ours.map((it) => it.open + it.out + it.missing + it.half + it.rejections + it.exceptions + it.warnings);
  return sum.some((all) => all !== 0) ? 1 : 0;
}

const number = (value) => value.toLocaleString('en');
const share = (part, whole) =>
  `${((100 * part) / Math.max(1, whole)).toFixed(part > 0 && part < whole / 100 ? 2 : 0)} %`;
