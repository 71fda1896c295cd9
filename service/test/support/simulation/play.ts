import { onClock, type Parts } from '@ambit/host-contract';
import { SimulatedClock } from '@ambit/transaction/testing';
import { Instance, scopes } from './instance.js';
import { Run } from './run.js';

/** They take as long to start as many runs, and like real ones they stay up from one to the next. */
let standing: Promise<readonly [Instance, Instance]> | undefined;

const startExpress = (): Promise<Instance> => Instance.start('express', 'express', 2);
const startFastify = (): Promise<Instance> => Instance.start('fastify', 'fastify', 3);

/** No timer of it comes in the middle of a run. */
function beforeRuns<T>(start: () => Promise<T>): Promise<T> {
  const clock = new SimulatedClock();
  return onClock(clock, async () => {
    const starting = start();
    const started = starting.then(() => true);
    while (!(await Promise.race([started, clock.run()])));
    await clock.run();
    return starting;
  });
}

/** In each of these the first instance stops in the middle, so it is another one. */
const STOPS_EVERY = 20;

/** Plays the run of a seed. Returns the guarantees that were broken. */
export async function play(seed: number, trace: string[] | undefined, parts: Parts): Promise<readonly string[]> {
  standing ??= beforeRuns(() => Promise.all([startExpress(), startFastify()]));
  const [express, fastify] = await standing;
  const stops = seed % STOPS_EVERY === 0 && parts.has('stop');
  const stopsExpress = stops && seed % (2 * STOPS_EVERY) === 0;
  const own = stops ? await beforeRuns(stopsExpress ? startExpress : startFastify) : express;
  const instances = [own, stopsExpress || !stops ? fastify : express];
  const broken = await new Run(seed, instances, { stops, trace, parts }).play();
  // What went wrong may have left something behind.
  if (broken.length > 0) {
    standing = undefined;
    scopes.open = 0;
  }
  return broken;
}
