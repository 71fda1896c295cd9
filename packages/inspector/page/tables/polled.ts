const EVERY_MS = 1000;

/** Reads something each second, only while it is shown. */
export class Polled<T> {
  readonly #read: () => Promise<T>;
  readonly #take: (result: T) => void;
  readonly #fail: () => void;
  #shown = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = false;

  constructor(read: () => Promise<T>, take: (result: T) => void, fail: () => void) {
    this.#read = read;
    this.#take = take;
    this.#fail = fail;
  }

  get shown(): boolean {
    return this.#shown;
  }

  set shown(shown: boolean) {
    this.#shown = shown;
    clearTimeout(this.#timer);
    if (shown && !this.#reading) void this.#next();
  }

  async #next(): Promise<void> {
    this.#reading = true;
    try {
      // A tab in the background shows nothing to anybody.
      if (!document.hidden) this.#take(await this.#read());
    } catch {
      this.#fail();
    }
    this.#reading = false;
    if (this.#shown) this.#timer = setTimeout(() => void this.#next(), EVERY_MS);
  }
}
