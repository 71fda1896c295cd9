import { type FakeFault, SimulatedClock } from '@ambit/transaction/testing';

/**
 * `SEED=123` plays that one run again, and `WITHOUT=c2,f7` does so without some of its parts; `SEEDS=100000` plays more runs, from
 * `FIRST_SEED` on.
 */
const { SEED, SEEDS, FIRST_SEED = '1', WITHOUT = '' } = process.env;

/** The seed of the one run to play again, with its trace. */
export const replayedSeed: number | undefined = SEED === undefined ? undefined : Number(SEED);
/** The seed that all random sequences begin with. */
export const firstSeed = Number(FIRST_SEED);

/** How many runs are played where nobody asks for another number. */
export function runsOr(usual: number): number {
  return Number(SEEDS ?? usual);
}

/** All that is left to chance in one run, drawn from one seed. */
export class Chance {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = new SimulatedClock(seed).random;
  }

  /** For one part of a run, whose numbers then do not depend on what the other parts draw. */
  fork(): Chance {
    return new Chance(this.below(2 ** 32));
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

/** Everything that can go wrong with a step of a `FakePool`. */
export const FAULTS: readonly FakeFault['kind'][] = ['refused', 'conflict', 'lost', 'lost after', 'never'];

/**
 * What a run is made of, such as its clients and its faults, each with a name. A run that failed is played again without some of
 * them, until without any other one it would not fail.
 */
export class Parts {
  readonly #without: ReadonlySet<string>;
  readonly #names = new Set<string>();

  constructor(without: Iterable<string> = []) {
    this.#without = new Set(without);
  }

  /** Whether the part is in this run. */
  has(name: string): boolean {
    if (this.#without.has(name)) return false;
    this.#names.add(name);
    return true;
  }

  /** Those that were asked for, and are in this run. */
  get names(): readonly string[] {
    return [...this.#names];
  }
}

interface Played {
  readonly seed: number;
  /** The violations of the guarantees; empty where all hold. */
  readonly broken: readonly string[];
  readonly trace: readonly string[];
  /** The names of what it was made of, */
  readonly parts: readonly string[];
  /** and of what was left out. */
  readonly without: readonly string[];
}

/** Plays the run of a seed, and writes down what happens where there is a trace. Returns the guarantees that were broken. */
export type Play = (seed: number, trace: string[] | undefined, parts: Parts) => Promise<readonly string[]>;

/** More of them side by side only make more work for the garbage collector. */
const SIDE_BY_SIDE = 10;

/** Plays seeded runs side by side until one of them breaks a guarantee. */
export class Simulation {
  readonly #play: Play;
  readonly #playsAlone: (seed: number) => boolean;
  readonly #uncaught: unknown[] = [];

  /** @param playsAlone - whether the run of this seed needs the process, as its timers, for itself */
  constructor(play: Play, playsAlone: (seed: number) => boolean = () => false) {
    this.#play = play;
    this.#playsAlone = playsAlone;
  }

  /** Plays so many runs, or as many as it takes to find one that breaks a guarantee; describes that one, or is empty. */
  async report(runs: number, where = ''): Promise<string> {
    const played = await this.#watched(() => this.#firstToBreak(runs));
    if (!played || played.broken.length === 0) return '';
    const { seed, without, broken, trace } = played;
    const less = without.length > 0 ? ` WITHOUT=${without.join(',')}` : '';
    return [`SEED=${seed}${less} replays it${where}:`, ...broken, '', ...trace].join('\n');
  }

  /** Plays runs side by side where that can be, and writes down what happens. */
  async tell(runs: number): Promise<Played[]> {
    const played: Played[] = [];
    for (const group of this.#groups(runs)) played.push(...(await Promise.all(group.map((seed) => this.replay(seed)))));
    return played;
  }

  async replay(seed: number, without: readonly string[] = []): Promise<Played> {
    const trace: string[] = [];
    const parts = new Parts(without);
    this.#uncaught.length = 0;
    const broken = await this.#play(seed, trace, parts);
    const uncaught = this.#uncaught.map((error) => `nobody caught ${String(error)}`);
    return { seed, broken: [...broken, ...uncaught], trace, parts: parts.names, without };
  }

  async #firstToBreak(runs: number): Promise<Played | undefined> {
    if (replayedSeed !== undefined)
      return this.#reduced(await this.replay(replayedSeed, WITHOUT.split(',').filter(Boolean)));
    for (const group of this.#groups(runs)) {
      const broken = await Promise.all(group.map((seed) => this.#play(seed, undefined, new Parts())));
      if (broken.flat().length > 0 || this.#uncaught.length > 0) return this.#find(group);
    }
    return undefined;
  }

  async #find(group: readonly number[]): Promise<Played> {
    for (const seed of group) {
      const played = await this.replay(seed);
      if (played.broken.length > 0) return this.#reduced(played);
    }
    const broken = [`One of the seeds ${group.join(', ')}, but only beside the others`];
    return { seed: group[0] ?? 0, broken, trace: [], parts: [], without: [] };
  }

  /** The same run without all parts that it does not take to fail. */
  async #reduced(played: Played): Promise<Played> {
    let least = played;
    if (played.broken.length === 0) return least;
    for (let size = Math.ceil(least.parts.length / 2), before = least; size > 0; before = least) {
      // The last first: what is left out of the end changes nothing before it.
      for (let end = least.parts.length; end > 0; end -= size) {
        const left = least.parts.slice(Math.max(0, end - size), end);
        const less = await this.replay(played.seed, [...least.without, ...left]);
        if (less.broken.length > 0) least = less;
      }
      if (size > 1) size = Math.ceil(size / 2);
      else if (least === before) size = 0;
    }
    return least;
  }

  /** Nothing may get as far as the process meanwhile. */
  async #watched<T>(work: () => Promise<T>): Promise<T> {
    const collect = (error: unknown): void => void this.#uncaught.push(error);
    process.on('unhandledRejection', collect).on('uncaughtException', collect);
    // Most runs hold errors, and their stacks would take a good part of the time.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return await work();
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      process.off('unhandledRejection', collect).off('uncaughtException', collect);
    }
  }

  *#groups(runs: number): Generator<number[]> {
    let group: number[] = [];
    const last = firstSeed + runs - 1;
    for (let seed = firstSeed; seed <= last; seed += 1) {
      const alone = this.#playsAlone(seed);
      if (alone) yield [seed];
      else group.push(seed);
      if (group.length > 0 && (group.length === SIDE_BY_SIDE || seed === last)) {
        yield group;
        group = [];
      }
    }
  }
}
