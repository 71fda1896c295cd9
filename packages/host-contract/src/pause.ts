/** A place where something stops until the test lets it go on. */
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

  /** Stops here. */
  readonly here = (): Promise<void> => {
    this.#arrive();
    return this.#over;
  };

  letGo(): void {
    this.#letGo();
  }
}
