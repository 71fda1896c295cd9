import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import type { Clock } from '@ambit/transaction';

const TIMERS = ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] as const;

/** What stands for a timer of Node. */
type Timer = (() => void) & { ref(): Timer; unref(): Timer };

const real = { ...timers };
const realPerformance = performance.now.bind(performance);
const realDate = Date.now;
const realRandom = Math.random;
const GOLDEN = (Math.sqrt(5) - 1) / 2;

interface Playing {
  readonly clock: Clock;
  readonly date: () => number;
}

let playing: Playing | undefined;

/** While `play` runs, the timers that hosts take from Node go by the clock of a run; so it has to play alone. */
export async function onClock<T>(clock: Clock, play: () => Promise<T>, date = () => clock.now()): Promise<T> {
  const before = TIMERS.map((name) => [name, globalThis[name]] as const);
  playing = { clock, date };
  Object.assign(globalThis, timersOn(clock));
  try {
    return await play();
  } finally {
    playing = undefined;
    Object.assign(globalThis, Object.fromEntries(before));
  }
}

/**
 * From now on dates and chance, and all who import Node's timers, go by the clock of the run that plays, too. Called before the modules are
 * loaded that keep such a function.
 */
export function simulateTime(): void {
  performance.now = () => playing?.clock.now() ?? realPerformance();
  // Not the next number of a sequence: what a process asks for once, such as a name, would shift all others.
  Math.random = () => (playing ? (playing.clock.now() * GOLDEN) % 1 : realRandom());
  Date.now = () => playing?.date() ?? realDate();
  for (const name of TIMERS) {
    const ofNode = real[name] as (...args: unknown[]) => unknown;
    Object.assign(timers, {
      [name]: (...args: unknown[]) =>
        playing ? (timersOn(playing.clock)[name] as typeof ofNode)(...args) : ofNode(...args),
    });
  }
  syncBuiltinESMExports();
}

function timersOn(clock: Clock) {
  const clear = (timer: Timer | NodeJS.Timeout | undefined): void => {
    if (typeof timer === 'function') timer();
    // One that was started before.
    else real.clearTimeout(timer);
  };
  return {
    setTimeout: (fn: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) =>
      asTimer(clock.setTimer(() => fn(...args), ms)),
    setInterval: (fn: () => void, ms: number) => every(clock, fn, ms),
    clearTimeout: clear,
    clearInterval: clear,
  };
}

function asTimer(cancel: () => void): Timer {
  const timer: Timer = Object.assign(() => cancel(), { ref: () => timer, unref: () => timer });
  return timer;
}

/** What would go on forever must not keep a run from its end, */
const OFTEN = 1000;
/** and what comes so seldom comes in no run. */
const SELDOM_MS = 3_600_000;

function every(clock: Clock, fn: () => void, ms: number): Timer {
  if (ms >= SELDOM_MS) return asTimer(() => undefined);
  let times = 0;
  let cancelTimer = clock.setTimer(again, ms);
  function again(): void {
    times += 1;
    if (times < OFTEN) cancelTimer = clock.setTimer(again, ms);
    fn();
  }
  return asTimer(() => cancelTimer());
}
