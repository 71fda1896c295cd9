/** One contestant at one work, in a process of its own: `child.mjs <contestant> <work>`. Each message asks for a measure. */
import { setImmediate } from 'node:timers/promises';
import { check } from './check.mjs';
import { contestants } from './contestants.mjs';
import { graphs } from './graph.mjs';
import { visits, works } from './works.mjs';

const WARM_UP = 400;
const MEASURE = 80;
const SLICE = 2;

const [name, work] = process.argv.slice(2);
const { graph, stays, visits: visited } = works[work];
const running = await contestants[name].setup(graphs[graph], work);
const { open, get, close } = running;
/** Resolves in a scope what the work asks for, in the contestant's own way. */
const visit = running.visit ?? visits[visited](get);

await check(running, work);
growYoungGeneration();
const measure = await timed();

process.on('message', () => void measure().then((it) => process.send(it)));
process.send('ready');

/**
 * Returns a function that gives nanoseconds of CPU time per operation.
 *
 * A measure is made of slices of about `SLICE` milliseconds, and what runs between two slices is not counted: as in a
 * server, the event loop turns between requests. (A `WeakRef` keeps its target alive until it turns, and one peer makes
 * one for every scope: without turns it would be measured at collecting garbage.)
 */
async function timed() {
  /** @type {(n: number) => void | Promise<void>} */
  const run = stays ? repeated(open()) : awaited;
  const took = async (n) => {
    const from = process.cpuUsage();
    await run(n);
    const { user, system } = process.cpuUsage(from);
    await setImmediate();
    return (user + system) / 1000;
  };
  let n = 1;
  for (let spent = 0; spent < WARM_UP;) {
    const one = await took(n);
    spent += one;
    n = Math.max(1, Math.min(n * 2, Math.round((n * SLICE) / one)));
  }
  return async () => {
    globalThis.gc();
    let spent = 0;
    let done = 0;
    for (; spent < MEASURE; done += n) spent += await took(n);
    return (spent / done) * 1e6;
  };
}

function repeated(scope) {
  return (n) => {
    for (let i = 0; i < n; i++) visit(scope);
  };
}

async function awaited(n) {
  for (let i = 0; i < n; i++) {
    const scope = open();
    visit(scope);
    await close(scope);
  }
}

/** V8 does it when much survives, as in a server. */
function growYoungGeneration() {
  return Array.from({ length: 500_000 }, (_, i) => ({ i })).length;
}
