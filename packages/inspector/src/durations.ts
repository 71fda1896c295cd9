/** So many buckets for each doubling: a percentile is at most 4.5 % too high. */
const PER_DOUBLING = 16;
const SHORTEST_MS = 0.001;

/** Durations in buckets that grow by a factor, so that percentiles of any number of them take the same memory. */
export class Durations {
  count = 0;
  total = 0;
  longest = 0;
  readonly #buckets = new Map<number, number>();

  add(milliseconds: number): void {
    this.count++;
    this.total += milliseconds;
    this.longest = Math.max(this.longest, milliseconds);
    const bucket = Math.ceil(PER_DOUBLING * Math.log2(Math.max(milliseconds, SHORTEST_MS) / SHORTEST_MS));
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
  }

  percentile(percent: number): number {
    let left = Math.ceil((this.count * percent) / 100);
    for (const [bucket, count] of [...this.#buckets].toSorted(([one], [other]) => one - other)) {
      left -= count;
      if (left <= 0) return Math.min(this.longest, SHORTEST_MS * 2 ** (bucket / PER_DOUBLING));
    }
    return this.longest;
  }
}
