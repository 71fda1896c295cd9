import { type FakeFault, SimulatedClock } from '@ambit/transaction/testing';

/** `SEED=123` plays that one run again, `SEEDS=100000` plays more of them, from `FIRST_SEED` on. */
const { SEED, SEEDS, FIRST_SEED = '1' } = process.env;

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

export interface Played {
  readonly seed: number;
  /** The violations of the guarantees; empty where all hold. */
  readonly broken: readonly string[];
  readonly trace: readonly string[];
}

/** Plays the run of a seed, and writes down what happens where there is a trace. Returns the guarantees that were broken. */
type Play = (seed: number, trace?: string[]) => Promise<readonly string[]>;

/** More of them side by side only make more work for the garbage collector. */
const SIDE_BY_SIDE = 10;

/** Plays seeded runs side by side until one of them breaks a guarantee. */
export class Simulation {
  readonly #play: Play;
  readonly #playsAlone: (seed: number) => boolean;
  /** Nothing may get as far as the process. */
  readonly #uncaught: unknown[] = [];

  /** @param playsAlone - whether the run of this seed needs the process, as its timers, for itself */
  constructor(play: Play, playsAlone: (seed: number) => boolean = () => false) {
    this.#play = play;
    this.#playsAlone = playsAlone;
  }

  /** Plays so many runs, or as many as it takes to find one that breaks a guarantee; describes that one, or is empty. */
  async report(runs: number, where = ''): Promise<string> {
    const played = replayedSeed === undefined ? await this.#firstToBreak(runs) : await this.replay(replayedSeed);
    if (!played || played.broken.length === 0) return '';
    return [`SEED=${played.seed} replays it${where}:`, ...played.broken, '', ...played.trace].join('\n');
  }

  /** Plays runs side by side where that can be, and writes down what happens. */
  async tell(runs: number): Promise<Played[]> {
    const played: Played[] = [];
    for (const group of this.#groups(runs)) played.push(...(await Promise.all(group.map((seed) => this.replay(seed)))));
    return played;
  }

  async replay(seed: number): Promise<Played> {
    const trace: string[] = [];
    return { seed, broken: await this.#play(seed, trace), trace };
  }

  async #firstToBreak(runs: number): Promise<Played | undefined> {
    const collect = (error: unknown): void => void this.#uncaught.push(error);
    process.on('unhandledRejection', collect).on('uncaughtException', collect);
    // Most runs hold errors, and their stacks would take a good part of the time.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      for (const group of this.#groups(runs)) {
        const broken = await Promise.all(group.map((seed) => this.#play(seed)));
        if (broken.flat().length > 0 || this.#uncaught.length > 0) return await this.#find(group);
      }
      return undefined;
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
      process.off('unhandledRejection', collect).off('uncaughtException', collect);
    }
  }

  async #find(group: readonly number[]): Promise<Played> {
    this.#uncaught.length = 0;
    for (const seed of group) {
      const { broken, trace } = await this.replay(seed);
      const all = [...broken, ...this.#uncaught.map((error) => `nobody caught ${String(error)}`)];
      if (all.length > 0) return { seed, broken: all, trace };
    }
    const seeds = group.join(', ');
    return { seed: group[0] ?? 0, broken: [`One of the seeds ${seeds}, but only beside the others`], trace: [] };
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
