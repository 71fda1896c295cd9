import { median } from '../shared/table.mjs';

/** The turns of one work. */
export class Turns {
  #passes;

  constructor(passes) {
    this.#passes = passes.map((turns) => new Map(turns.map((turn) => [turn.size, turn])));
  }

  get count() {
    return this.#passes.length;
  }

  has(name) {
    return this.#passes.every((sizes) => [...sizes.values()].every((turn) => turn[name] !== undefined));
  }

  median(name, size) {
    return median(this.#passes.map((sizes) => sizes.get(size)[name]));
  }

  least(name, size) {
    return Math.min(...this.#passes.map((sizes) => sizes.get(size)[name]));
  }

  /** Of turns in the same pass, a second or two apart: what disturbs the machine disturbs both. */
  ratio(name, size, other) {
    const ratios = this.#passes.map((sizes) => sizes.get(size)[name] / sizes.get(other)[name]);
    const [low, high] = intervalOfMedian(ratios);
    return { middle: median(ratios), low, high };
  }
}

/**
 * The numbers between which the median of what was sampled lies, with a probability of 95 % or more: those of two ranks, without any
 * assumption about the distribution. Of fewer than six numbers it is the least and the greatest, which says less.
 *
 * @param {number[]} numbers
 */
function intervalOfMedian(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const n = sorted.length;
  let rank = 0;
  let below = 0.5 ** n;
  for (let k = 1, ways = 1; 2 * below <= 0.05 && k < n / 2; k++) {
    rank = k - 1;
    ways = (ways * (n - k + 1)) / k;
    below += ways * 0.5 ** n;
  }
  return [sorted[rank], sorted[n - 1 - rank]];
}
