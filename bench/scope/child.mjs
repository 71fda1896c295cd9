/** One contestant at one work, in a process of its own: `child.mjs <contestant> <work>`. Each message asks for a measure. */
import { setImmediate } from 'node:timers/promises';
import { bytesPerScope } from './bytes.mjs';
import { cpu } from './clock.mjs';
import { prepare } from './contestant.mjs';
import { measureOnce } from './once.mjs';
import { works } from './works.mjs';

const WARM_UP = 400;
const MEASURE = 80;
const SLICE = 2;

const [file, work] = process.argv.slice(2);
const { contestant } = await import(`./contestants/${file}.mjs`);
const measure = await measureOf(work);

process.on('message', () => void reply());
process.send('ready');

async function reply() {
  process.send(await measure());
}

async function measureOf(name) {
  if (works[name]?.once) return () => measureOnce(contestant, name);
  growYoungGeneration();
  return name === 'bytes' ? bytesPerScope(contestant) : timed(await prepare(contestant, name));
}

/**
 * Returns a function that gives nanoseconds of CPU time per operation.
 *
 * A measure is made of slices of about `SLICE` milliseconds, and what runs between two slices is not counted: as in a
 * server, the event loop turns between requests. (A `WeakRef` keeps its target alive until it turns, and one peer makes
 * one for every scope: without turns it would be measured at collecting garbage.)
 */
async function timed(run) {
  const took = async (n) => {
    const from = cpu();
    await run(n);
    const spent = cpu() - from;
    await setImmediate();
    return spent;
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

/** V8 does it when much survives: done here, so that a work with 10,000 open scopes is not the only one to have it. */
function growYoungGeneration() {
  return Array.from({ length: 500_000 }, (_, i) => ({ i })).length;
}
