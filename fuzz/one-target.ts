// The process of one target, started by main.ts: what an input may destroy is this process only.
import { openSync } from 'node:fs';
import { fromLine, readCorpus, toLine, writeCorpus } from './corpus.js';
import { Coverage, textsIn } from './coverage.js';
import { Mutations } from './mutations.js';
import { noteIn, Search } from './search.js';
import type { Target } from './target.js';

export interface Order {
  readonly target: string;
  readonly ms: number;
  readonly seed: number;
  /** Where the input in progress is noted. */
  readonly note: string;
  readonly keeps: boolean;
  readonly fromOne: boolean;
  /** Ends with the first finding. */
  readonly first: boolean;
  /** This input only. */
  readonly replay: string | undefined;
}

export interface Progress {
  readonly executions: number;
  readonly seconds: number;
  readonly reached: number;
  readonly all: number;
  readonly corpus: number;
  readonly new: number;
}

export interface ShownFinding {
  /** False for what happened once, and not again with the same input. */
  readonly isSure: boolean;
  readonly line: string;
  readonly text: string;
}

export type Message = { readonly progress: Progress; readonly isOver: boolean } | { readonly finding: ShownFinding };

const TICK_MS = 1000;

const started = performance.now();
const order = JSON.parse(process.argv[2] ?? '') as Order;
const { open } = (await import(`./targets/${order.target}.ts`)) as { open: () => Promise<Target> | Target };
const target = await open();
const coverage = new Coverage();
const mutations = new Mutations(order.seed, [...target.dictionary, ...textsIn(coverage.paths)], target.maxLength);
const note = noteIn(openSync(order.note, 'w'));
const search = new Search({ target, coverage, mutations, note, endsWithFirst: order.first });
// The shell interrupts all processes in the foreground: what was found until then is kept.
process.on('SIGINT', () => search.end());

const tell = (message: Message): void => void process.send?.(message);
const before = order.fromOne || order.replay !== undefined ? [] : readCorpus(order.target);
let corpus = before;
let shown = 0;
const show = (isOver: boolean): void => {
  for (const { input, error, isSure } of search.found.slice(shown))
    tell({ finding: { line: toLine(input), text: String(error.stack), isSure } });
  shown = search.found.length;
  const isBefore = new Set(before.map(toLine));
  const progress = {
    executions: search.executions,
    seconds: (performance.now() - started) / 1000,
    reached: search.reached,
    all: coverage.all,
    corpus: corpus.length,
    new: corpus.filter((input) => !isBefore.has(toLine(input))).length,
  };
  tell({ progress, isOver });
};

const ticking = setInterval(() => show(false), TICK_MS);
if (order.replay === undefined) {
  const seeds = order.fromOne ? target.seeds.slice(0, 1) : target.seeds;
  await search.start([...seeds, ...before]);
  await search.until(started + order.ms);
  corpus = search.corpus(seeds);
  if (order.keeps) writeCorpus(order.target, corpus);
} else await search.start([fromLine(order.replay)]);
clearInterval(ticking);
show(true);
await target.close?.();
process.disconnect?.();
