/** How long a test waits for something that should happen at once. Only a failing test waits that long. */
const TIMEOUT_MS = 3000;

/** Lets tests wait for what they count, instead of sleeping. */
export class Happenings {
  readonly #waiting = new Set<() => void>();

  /** Something happened: those who wait look again. */
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
