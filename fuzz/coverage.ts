import { readFileSync } from 'node:fs';

interface Counts {
  readonly path: string;
  s: Record<string, number> | Uint32Array;
  f: Record<string, number> | Uint32Array;
  readonly b: Record<string, number[] | Uint32Array>;
}

/** From how many executions of a statement on it counts as another thing that an input does. */
const STEPS = [2, 3, 4, 8, 16, 32, 128];
const PER_COUNTER = STEPS.length + 1;

/** Which statements, functions and branches of the sources one input reaches, and how often. */
export class Coverage {
  readonly paths: readonly string[];
  readonly #counts: Uint32Array;
  readonly #words = new Map<string, number>();

  /** After all sources were loaded: the counters of all of them move into one array. */
  constructor() {
    const files = Object.values((globalThis as { __coverage__?: Record<string, Counts> }).__coverage__ ?? {});
    this.paths = files.map(({ path }) => path);
    const sizeOf = (counts: object): number => Object.keys(counts).length;
    const size = files.reduce(
      (sum, { s, f, b }) => sum + sizeOf(s) + sizeOf(f) + Object.values(b).reduce((all, ways) => all + ways.length, 0),
      0,
    );
    this.#counts = new Uint32Array(size);
    let at = 0;
    const next = (length: number): Uint32Array => this.#counts.subarray(at, (at += length));
    for (const file of files) {
      file.s = next(sizeOf(file.s));
      file.f = next(sizeOf(file.f));
      for (const [branch, ways] of Object.entries(file.b)) file.b[branch] = next(ways.length);
    }
  }

  /** Of statements, functions and branches together. */
  get all(): number {
    return this.#counts.length;
  }

  begin(): void {
    this.#counts.fill(0);
  }

  /** What happened since: a number for each, the same for each input that does it. */
  seen(words: Iterable<string>): number[] {
    const seen: number[] = [];
    const counts = this.#counts;
    for (let at = 0; at < counts.length; at += 1) {
      const count = counts[at] as number;
      if (count === 0) continue;
      for (let step = -1; step < STEPS.length && (step < 0 || count >= (STEPS[step] as number)); step += 1)
        seen.push(at * PER_COUNTER + step + 1);
    }
    for (const word of words) seen.push(this.#numberOf(word));
    return seen;
  }

  /** Whether it is reached code, not how often, nor what a target said. */
  isReached(feature: number): boolean {
    return feature < this.all * PER_COUNTER && feature % PER_COUNTER === 0;
  }

  /** How often it happened: only that there is more of what another input does, too. */
  isRepetition(feature: number): boolean {
    return feature < this.all * PER_COUNTER && feature % PER_COUNTER !== 0;
  }

  #numberOf(word: string): number {
    const number = this.#words.get(word) ?? this.all * PER_COUNTER + this.#words.size;
    this.#words.set(word, number);
    return number;
  }
}

/** The short texts in the sources: what they compare with is what an input may have to contain. */
export function textsIn(paths: readonly string[]): string[] {
  const sources = paths.map((path) => readFileSync(path, 'utf8')).join('\n');
  return [...new Set(Array.from(sources.matchAll(/'([^'\n\\]{2,24})'/g), ([, text = '']) => text))];
}
