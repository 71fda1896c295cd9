import type { Served, SimulatedHost } from './host.js';
import { Run } from './run.js';
import { onClock } from './timers.js';

/** More of them side by side only make more work for the garbage collector. */
const SIDE_BY_SIDE = 10;
const FIRST_SEED = Number(process.env['FIRST_SEED'] ?? 1);

export interface Played {
  readonly seed: number;
  /** What went against the guarantees: nothing, it is hoped. */
  readonly broken: readonly string[];
  readonly trace: readonly string[];
}

/** Plays the runs of one host. */
export class Runner {
  readonly #host: SimulatedHost;
  readonly #served: Served;
  /** Nothing may get as far as the process. */
  readonly #uncaught: unknown[] = [];

  private constructor(host: SimulatedHost, served: Served) {
    this.#host = host;
    this.#served = served;
  }

  static async of(host: SimulatedHost): Promise<Runner> {
    return new Runner(host, await host.serve());
  }

  /** Plays all the seeds, or as many as it takes to find one that breaks a promise. */
  async firstToBreak(seeds: number): Promise<Played | undefined> {
    const collect = (error: unknown): void => void this.#uncaught.push(error);
    process.on('unhandledRejection', collect).on('uncaughtException', collect);
    try {
      for (const group of this.#groups(seeds)) {
        const broken = await Promise.all(group.map((seed) => this.#play(seed)));
        if (broken.flat().length > 0 || this.#uncaught.length > 0) return await this.#find(group);
      }
      return undefined;
    } finally {
      process.off('unhandledRejection', collect).off('uncaughtException', collect);
    }
  }

  /** Plays them side by side where that can be, and writes down what happens. */
  async tell(seeds: number): Promise<Played[]> {
    const played: Played[] = [];
    for (const group of this.#groups(seeds))
      played.push(...(await Promise.all(group.map((seed) => this.replay(seed)))));
    return played;
  }

  async replay(seed: number): Promise<Played> {
    const trace: string[] = [];
    return { seed, broken: await this.#play(seed, trace), trace };
  }

  async #find(group: readonly number[]): Promise<Played> {
    this.#uncaught.length = 0;
    for (const seed of group) {
      const { broken, trace } = await this.replay(seed);
      const all = [...broken, ...this.#uncaught.map((error) => `nobody caught ${String(error)}`)];
      if (all.length > 0) return { seed, broken: all, trace };
    }
    throw new Error(`One of the seeds ${group.join(', ')} broke a promise, but only beside the others`);
  }

  async #play(seed: number, trace?: string[]): Promise<readonly string[]> {
    const host = this.#host;
    const closes = this.#closes(seed);
    const run = new Run({ seed, host, served: closes ? await host.serve() : this.#served, closes, trace });
    return closes || host.hasTimers ? onClock(run.clock, () => run.play()) : run.play();
  }

  /** Starting a server takes as long as many runs, so only these have one of their own, which closes in the middle. */
  #closes(seed: number): boolean {
    return this.#host.closes !== false && seed % 50 === 0;
  }

  /** What may be played side by side: all but those that have the timers of the process for themselves. */
  *#groups(seeds: number): Generator<number[]> {
    let group: number[] = [];
    const last = FIRST_SEED + seeds - 1;
    for (let seed = FIRST_SEED; seed <= last; seed += 1) {
      if (this.#closes(seed)) yield [seed];
      else group.push(seed);
      if (group.length === (this.#host.hasTimers ? 1 : SIDE_BY_SIDE) || seed === last) {
        yield group;
        group = [];
      }
    }
  }
}
