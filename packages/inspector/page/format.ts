/** `0.42 ms`, `12 ms`, `1.3 s` */
export function duration(milliseconds: number): string {
  if (milliseconds < 1) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${milliseconds.toFixed(0)} ms`;
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

/** `4 s`, `3 min`, `2 h` */
export function age(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 1) return `${milliseconds.toFixed(0)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(0)} h`;
}

export const count = (number: number): string => number.toLocaleString('en');
export const clock = (since1970: number): string => new Date(since1970).toLocaleTimeString('en-GB');

/** The last part of `application > request`. */
export function lastOf(box: string): string {
  return box.split(' > ').at(-1) ?? box;
}

/** The colour number of a kind of scope, by its depth; there are four. */
export function lifetimeOf(box: string): string {
  return String((box.split(' > ').length - 1) % 4);
}

const FINDINGS: Readonly<Record<string, string>> = {
  'outside-statement': 'statement outside of the open transaction',
  'second-connection': 'second connection in an open transaction',
  'http-request': 'HTTP request in an open transaction',
  gap: 'gap in an open transaction',
  'repeated-statement': 'the same statement too often',
  'error-committed': 'an error response that committed',
  'error-rolled-back': 'a write that an error rolled back',
};

/** Findings of the transaction check in words. */
export function nameOfFinding(kind: string): string {
  return FINDINGS[kind] ?? kind;
}

/** `0 %`, `0.3 %`, `12 %` */
export function share(part: number): string {
  const percent = part * 100;
  return `${percent > 0 && percent < 10 ? percent.toFixed(1) : percent.toFixed(0)} %`;
}

/** `Map.groupBy()`, which Node 20 does not have. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** A word about a request or one of its parts. */
export interface Mark {
  readonly text: string;
  readonly mood: '' | 'bad' | 'good' | 'warn';
  readonly title?: string;
}
