/** Something that happens once. It creates a promise only where somebody waits for it. */
export class Milestone {
  #isReached = false;
  #promise: Promise<void> | undefined = undefined;
  #resolve: (() => void) | undefined = undefined;

  reach(): void {
    this.#isReached = true;
    this.#resolve?.();
  }

  reached(): Promise<void> {
    this.#promise ??= new Promise((resolve) => {
      if (this.#isReached) resolve();
      else this.#resolve = resolve;
    });
    return this.#promise;
  }
}
