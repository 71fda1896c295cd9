import { withoutLiterals } from '../sql/without-literals.js';

/** A savepoint is no query that a join could replace. */
const SAVEPOINT = /^\s*(?:savepoint|release|rollback)\b/i;

/** One line without the values that are written into it, so that it is the same text for each of them. */
export function shown(sql: string): string {
  return withoutLiterals(sql, { text: '?', number: '?' }).replaceAll(/\s+/g, ' ').trim();
}

/** How often each statement ran. */
export class Tally {
  readonly #times = new Map<string, number>();

  /** Returns how often it has run now. */
  add(sql: string): number {
    if (SAVEPOINT.test(sql)) return 0;
    const text = shown(sql);
    const times = (this.#times.get(text) ?? 0) + 1;
    this.#times.set(text, times);
    return times;
  }

  /** What was rolled back may run again, as a retry. */
  subtract(other: Tally): void {
    for (const [text, times] of other.#times) this.#times.set(text, (this.#times.get(text) ?? times) - times);
  }
}
