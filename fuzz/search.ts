import { writeSync } from 'node:fs';
import { setImmediate as otherWork } from 'node:timers/promises';
import type { Coverage } from './coverage.js';
import { type Mutations, reduced } from './mutations.js';
import { Finding, type Target } from './target.js';

/** No input that is this short takes this long. */
const SLOW_MS = 2000;
const SLOW = 'it takes long';
const YIELD_MS = 50;
/** For each new input, and for each finding: a number, not a time, so that a seed repeats a search on any machine. */
const REDUCTIONS = 100;
const REDUCTIONS_OF_FINDING = 1000;
const REDUCTIONS_OF_SLOW = 10;
/** Of a corpus in the repository, beyond what reaches further code. */
const ENOUGH_BYTES = 40_000;
const NEWEST = 30;

interface Entry {
  readonly input: Buffer;
  readonly features: readonly number[];
}

export interface Found {
  readonly input: Buffer;
  readonly error: Error;
  /** False for what happened once, and not again with the same input. */
  readonly isSure: boolean;
}

export interface SearchOptions {
  readonly target: Target;
  readonly coverage: Coverage;
  readonly mutations: Mutations;
  /** Called with each input before it is run. */
  readonly note: (input: Buffer) => void;
  /** With the first finding, the search is over. */
  readonly endsWithFirst: boolean;
}

/** Runs inputs, keeps those that do what none has done before, and makes further inputs of them. */
export class Search {
  executions = 0;
  readonly found: Found[] = [];
  readonly #target: Target;
  readonly #coverage: Coverage;
  readonly #mutations: Mutations;
  readonly #note: (input: Buffer) => void;
  readonly #endsWithFirst: boolean;
  readonly #entries: Entry[] = [];
  readonly #seen = new Set<number>();
  readonly #kinds = new Set<string>();
  readonly #kindsSeenOnce = new Set<string>();
  #stray: unknown;
  #isOver = false;

  constructor({ target, coverage, mutations, note, endsWithFirst }: SearchOptions) {
    this.#target = target;
    this.#coverage = coverage;
    this.#mutations = mutations;
    this.#note = note;
    this.#endsWithFirst = endsWithFirst;
    const keep = (error: unknown): void => {
      this.#stray = error;
    };
    process.on('uncaughtException', keep).on('unhandledRejection', keep);
  }

  get reached(): number {
    return [...this.#seen].filter((feature) => this.#coverage.isReached(feature)).length;
  }

  /** As they are. */
  async start(inputs: readonly Buffer[]): Promise<void> {
    for (const input of inputs) {
      if (this.#isOver) return;
      const { features, error } = await this.#run(input);
      if (error) await this.#report(input, error);
      else if (this.#isNew(features)) this.#add({ input, features });
    }
  }

  async until(deadline: number): Promise<void> {
    let yielded = performance.now();
    while (performance.now() < deadline && !this.#isOver) {
      const input = this.#mutations.of(this.#pick(), this.#pick());
      const { features, error } = await this.#run(input);
      if (error) await this.#report(input, error);
      else if (this.#isNew(features)) await this.#learn(input, features);
      if (performance.now() - yielded < YIELD_MS) continue;
      await otherWork();
      yielded = performance.now();
    }
  }

  /** The shortest of what was kept that together do all that the seeds do not. */
  corpus(seeds: readonly Buffer[]): Buffer[] {
    const isSeed = ({ input }: Entry): boolean => seeds.some((seed) => seed.equals(input));
    const known = new Set(this.#entries.filter(isSeed).flatMap(({ features }) => features));
    const others = this.#entries.filter((entry) => !isSeed(entry)).toSorted((a, b) => a.input.length - b.input.length);
    const kept = new Set<Buffer>();
    let bytes = 0;
    const keep = (adds: (feature: number) => boolean, mostBytes: number): void => {
      for (const { input, features } of others) {
        if (bytes + input.length > mostBytes || !features.some((feature) => adds(feature) && !known.has(feature)))
          continue;
        for (const feature of features) known.add(feature);
        kept.add(input);
        bytes += input.length;
      }
    };
    keep((feature) => !this.#coverage.isRepetition(feature), Infinity);
    keep(() => true, ENOUGH_BYTES);
    return [...kept];
  }

  /** `until()` resolves before its time. */
  end(): void {
    this.#isOver = true;
  }

  async #run(input: Buffer): Promise<{ features: readonly number[]; error?: Error | undefined }> {
    this.#note(input);
    this.executions += 1;
    this.#stray = undefined;
    this.#coverage.begin();
    const started = performance.now();
    try {
      const running = this.#target.run(input);
      const words = running instanceof Promise ? await running : running;
      const features = this.#coverage.seen(words);
      const ms = performance.now() - started;
      if (this.#stray !== undefined) return { features, error: errorOf(this.#stray) };
      return ms > SLOW_MS ? { features, error: new Finding(SLOW, { ms: Math.round(ms) }) } : { features };
    } catch (error) {
      return { features: [], error: errorOf(error) };
    }
  }

  #isNew(features: readonly number[]): boolean {
    return features.some((feature) => !this.#seen.has(feature));
  }

  async #learn(input: Buffer, features: readonly number[]): Promise<void> {
    const fresh = features.filter((feature) => !this.#seen.has(feature));
    let best: Entry = { input, features };
    const doesTheSame = async (smaller: Buffer): Promise<boolean> => {
      const { features: reached, error } = await this.#run(smaller);
      const all = new Set(reached);
      if (error || !fresh.every((feature) => all.has(feature))) return false;
      best = { input: smaller, features: reached };
      return true;
    };
    await reduced(input, doesTheSame, REDUCTIONS);
    this.#add(best);
  }

  #add(entry: Entry): void {
    this.#entries.push(entry);
    for (const feature of entry.features) this.#seen.add(feature);
  }

  /** The newest ones more often: what they do is what least was tried with. */
  #pick(): Buffer {
    const { length } = this.#entries;
    const from = this.#mutations.below(3) === 0 ? Math.max(0, length - NEWEST) : 0;
    return this.#entries[from + this.#mutations.below(length - from)]?.input ?? Buffer.alloc(0);
  }

  /** Once for each kind, and as short as it gets. */
  async #report(input: Buffer, error: Error): Promise<void> {
    const kind = kindOf(error);
    if (this.#kinds.has(kind)) return;
    let last = error;
    const isTheSame = async (smaller: Buffer): Promise<boolean> => {
      const { error: again } = await this.#run(smaller);
      if (!again || kindOf(again) !== kind) return false;
      last = again;
      return true;
    };
    const isSure = await isTheSame(input);
    // A busy machine is slow with any input.
    if (!isSure && this.#kindsSeenOnce.has(kind)) return;
    (isSure ? this.#kinds : this.#kindsSeenOnce).add(kind);
    const reductions = kind === SLOW ? REDUCTIONS_OF_SLOW : REDUCTIONS_OF_FINDING;
    const smallest = isSure ? await reduced(input, isTheSame, reductions) : input;
    this.found.push({ input: smallest, error: last, isSure });
    if (isSure && this.#endsWithFirst) this.end();
  }
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What is thrown in the same place is the same defect. */
function kindOf(error: Error): string {
  if (error instanceof Finding) return error.kind;
  const place = error.stack?.split('\n').find((line) => /^\s+at .*(?:packages|service|fuzz)\//.test(line));
  return `${error.name} ${place ?? error.message}`;
}

/** Writes the input where it is found if the process does not survive it. */
export function noteIn(file: number): (input: Buffer) => void {
  return (input) => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(input.length);
    writeSync(file, Buffer.concat([head, input]), 0, input.length + 4, 0);
  };
}
