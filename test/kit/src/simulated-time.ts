import timers from 'node:timers';
import type { Clock } from '@ambit/transaction';

const TIMERS = ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] as const;

/** What stands for a timer of Node. */
type Timer = (() => void) & { ref(): Timer; unref(): Timer };

/** While `play` runs, the timers that hosts take from Node go by the clock of a run; so it has to play alone. */
export async function onClock<T>(clock: Clock, play: () => Promise<T>): Promise<T> {
  const before = TIMERS.map((name) => [name, globalThis[name]] as const);
  Object.assign(globalThis, timersOn(clock));
  try {
    return await play();
  } finally {
    Object.assign(globalThis, Object.fromEntries(before));
  }
}

function timersOn(clock: Clock) {
  const clear = (timer: Timer | NodeJS.Timeout | undefined): void => {
    if (typeof timer === 'function') timer();
    // One that was started before.
    else timers.clearTimeout(timer);
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
