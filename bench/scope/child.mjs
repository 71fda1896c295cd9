/** One contestant at one work, in a process of its own: `child.mjs <contestant> <work>`. Each message asks for a measure. */
import { setImmediate } from 'node:timers/promises';
import { check } from './check.mjs';
import { contestants } from './contestants.mjs';
import { graphs } from './graph.mjs';
import { visits, works } from './works.mjs';

const WARM_UP = 400;
const MEASURE = 80;
const SLICE = 2;
const SCOPES = 10_000;

const [name, asked] = process.argv.slice(2);
const work = asked === 'bytes' ? 'main, 20 registrations' : asked;
const contestant = contestants[name];
const { graph, size, live, stays, visits: visited } = works[work];
const running = await contestant.setup(graphs[graph](size), work);
const { open, get, close, key = (it) => it } = running;
/** Resolves in a scope what the work asks for, in the contestant's own way. */
const visit = running.visit ?? visits[visited](get, key);

growYoungGeneration();
const measure = asked === 'bytes' ? await bytes() : await timed();

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
  await check(running, work);
  const run = await prepared();
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

/** @returns {Promise<(n: number) => void | Promise<void>>} does the work so many times */
async function prepared() {
  if (stays) return repeated(open());
  /** @type {(n: number, kept?: unknown) => void | Promise<void>} */
  const run = contestant.disposal === 'awaited' ? awaited : direct;
  // They open among many that are closed, as in a server: were they the only ones, V8 would learn to allocate scopes as old.
  const kept = [];
  while (kept.length < live) {
    await run(9);
    const scope = open();
    visit(scope);
    kept.push(scope);
  }
  return (n) => run(n, kept);
}

function repeated(scope) {
  return (n) => {
    for (let i = 0; i < n; i++) visit(scope);
  };
}

function direct(n) {
  for (let i = 0; i < n; i++) {
    const scope = open();
    visit(scope);
    void close(scope);
  }
}

async function awaited(n) {
  for (let i = 0; i < n; i++) {
    const scope = open();
    visit(scope);
    await close(scope);
  }
}

/** Returns a function that gives the bytes one open scope holds, with three objects resolved in it. */
async function bytes() {
  const kept = Array.from({ length: SCOPES });
  const once = async () => {
    const before = heap();
    for (let i = 0; i < SCOPES; i++) visit((kept[i] = open()));
    const held = (heap() - before) / SCOPES;
    for (const scope of kept) await close(scope);
    kept.fill(undefined);
    return held;
  };
  await once();
  return once;
}

function heap() {
  for (let i = 0; i < 3; i++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** V8 does it when much survives: done here, so that a work with 10,000 open scopes is not the only one to have it. */
function growYoungGeneration() {
  return Array.from({ length: 500_000 }, (_, i) => ({ i })).length;
}
