/** The time that a test waits for something that should happen at once. Only a failing test waits that long. */
const TIMEOUT_MS = 120_000;

/** @internal Lets tests wait for what they count, instead of sleeping. */
export class Happenings {
  readonly #waiting = new Set<() => void>();

  /** Lets everyone who waits look again, because something happened. */
  tell(): void {
    for (const look of this.#waiting) look();
  }

  /** Resolves as soon as `isSo()`; rejects with `what` when it does not come to that. */
  until(isSo: () => boolean, what: string, timeoutMs = TIMEOUT_MS): Promise<void> {
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      const look = (): void => {
        if (!isSo()) return;
        stop();
        resolve();
      };
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`It did not come to this: ${what}`));
      }, timeoutMs);
      this.#waiting.add(look);
      look();
    });
  }
}

/** @internal A place where something stops until the test lets it go on. */
export class Pause {
  /** Resolves when somebody has stopped here. */
  readonly reached: Promise<void>;
  #arrive = (): void => undefined;
  #letGo = (): void => undefined;
  readonly #over: Promise<void>;

  constructor() {
    this.reached = new Promise((resolve) => (this.#arrive = resolve));
    this.#over = new Promise((resolve) => (this.#letGo = resolve));
  }

  readonly here = (): Promise<void> => {
    this.#arrive();
    return this.#over;
  };

  letGo(): void {
    this.#letGo();
  }
}

const TICK_MS = 10;

/**
 * @internal How long something takes in this process, in ms: a busy machine that keeps the process waiting lets no timer tick meanwhile.
 * Only for work that waits for nothing outside of the process.
 */
export async function msOf(work: Promise<unknown>): Promise<number> {
  let ticks = 0;
  const ticking = setInterval(() => (ticks += 1), TICK_MS);
  try {
    await work;
  } finally {
    clearInterval(ticking);
  }
  return ticks * TICK_MS;
}

/** @internal A promise and the function that resolves it. */
export function signal<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
