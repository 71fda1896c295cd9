import { seededRandom } from '@ambit/transaction/testing';

/** All that is left to chance in one run, drawn from one seed. */
export class Chance {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  of(probability: number): boolean {
    return this.next() < probability;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T;
  }
}
