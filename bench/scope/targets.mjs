import { median } from '../shared/table.mjs';
import { targets, works } from './works.mjs';

/**
 * @typedef {object} Verdict
 * @property {string} row
 * @property {'main' | 'hand' | 'inferdi' | 'is'} to what it is compared with
 * @property {number} most
 * @property {number | undefined} got nothing where the work failed
 * @property {string | undefined} failed why
 * @property {boolean} kept
 */

/** The rows of a work: one for each of its measures. */
export const rowsOf = (work) => {
  const { measures } = works[work];
  return measures ? Object.keys(measures).map((measure) => `${work}: ${measure}`) : [work];
};

/** What each contestant took at that row, round by round; or the error at which it failed. */
export function measuresOf(row, results) {
  const [work, measure] = row.split(': ');
  const by = Object.entries(results.works[work] ?? {});
  return Object.fromEntries(
    by.map(([name, all]) => [
      name,
      all instanceof Error ? all : all.map((it) => (typeof it === 'number' ? it : it[measure])),
    ]),
  );
}

/** Compares what was measured with the targets, as far as both sides took part. @returns {Verdict[]} */
export function judge(results) {
  const verdicts = [];
  for (const [row, limits] of Object.entries(targets)) {
    const { ambit, ...others } = measuresOf(row, results);
    if (!ambit) continue;
    for (const [to, most] of Object.entries(limits)) {
      const other = to === 'is' ? undefined : others[to];
      if (to !== 'is' && !Array.isArray(other)) continue;
      const failed = ambit instanceof Error ? ambit.message : undefined;
      const got = failed ? undefined : to === 'is' ? figure(row)(ambit) : compared(ambit, other, row, to);
      verdicts.push({ row, to, most, got, failed, kept: got !== undefined && got <= most });
    }
  }
  return verdicts;
}

const NANOSECONDS = { ms: 1e6, µs: 1e3 };

export const isMemory = (row) => row.includes(': MB');

const least = (all) => Math.min(...all);

/** Of times the least: neighbours on the machine can only add to it, and they add most to who allocates most. */
export const figure = (row) => (isMemory(row) ? median : least);

/** How many times the one time is the other, which may be that of `main`, in nanoseconds. */
export function compared(these, those, row, other) {
  const unit = other === 'main' ? (NANOSECONDS[row.split(': ')[1]?.split(' ')[0]] ?? 1) : 1;
  return (least(these) / least(those)) * unit;
}
