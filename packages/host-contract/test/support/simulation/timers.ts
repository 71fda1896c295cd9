import type { Clock } from '@ambit/transaction';

const TIMERS = ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] as const;

/** While `play` runs, the timers that hosts take from Node go by the clock of a run; so it has to play alone. */
export async function onClock<T>(clock: Clock, play: () => Promise<T>): Promise<T> {
  const real = TIMERS.map((name) => [name, globalThis[name]] as const);
  const clearReal = globalThis.clearInterval;
  const clear = (timer: (() => void) | NodeJS.Timeout | undefined): void => {
    if (typeof timer === 'function') timer();
    // One that the host has started before.
    else clearReal(timer);
  };
  Object.assign(globalThis, {
    setTimeout: (fn: () => void, ms = 1) => clock.setTimer(fn, ms),
    setInterval: (fn: () => void, ms: number) => every(clock, fn, ms),
    clearTimeout: clear,
    clearInterval: clear,
  });
  try {
    return await play();
  } finally {
    Object.assign(globalThis, Object.fromEntries(real));
  }
}

/** What would go on forever must not keep a run from its end. */
const OFTEN = 1000;

function every(clock: Clock, fn: () => void, ms: number): () => void {
  let times = 0;
  let cancelTimer = clock.setTimer(again, ms);
  function again(): void {
    times += 1;
    if (times < OFTEN) cancelTimer = clock.setTimer(again, ms);
    fn();
  }
  const cancel = (): void => cancelTimer();
  return Object.assign(cancel, { unref: () => cancel });
}
