import { checkTimes, HttpError } from '@ambit/host';

/** How long `drain()` waits. */
export interface DrainOptions {
  /** After this long `drain()` rejects, with the requests still open; `Infinity`: never. Default 10 s. */
  readonly timeoutMs?: number;
}

/** From here on timers fire at once. */
const TOO_LONG_MS = 2 ** 31;

/** How many requests of one handler are open: from their arrival until their scope is disposed. */
export class OpenRequests {
  readonly #max: number;
  #count = 0;
  readonly #waiting = new Set<() => void>();

  constructor(max = Infinity) {
    this.#max = max;
  }

  get count(): number {
    return this.#count;
  }

  /** Whether a further request is to be refused, unless it is essential. */
  get isFull(): boolean {
    return this.#count >= this.#max;
  }

  /** Counts a request, for which `leave()` must follow once. */
  enter(): void {
    this.#count += 1;
  }

  leave(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resolve of this.#waiting) resolve();
  }

  /** Resolves when no request is open. */
  drain({ timeoutMs = 10_000 }: DrainOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      checkTimes({ timeoutMs }, 'timeoutMs');
      if (this.#count === 0) return resolve();
      const fail = (): void => {
        this.#waiting.delete(finish);
        reject(new HttpError('AMBIT_HTTP_DISPOSE_TIMEOUT', `${this.#count} are open after ${timeoutMs} ms`));
      };
      const timer = timeoutMs < TOO_LONG_MS ? setTimeout(fail, timeoutMs) : undefined;
      const finish = (): void => {
        this.#waiting.delete(finish);
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.add(finish);
    });
  }
}
