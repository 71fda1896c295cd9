/** How often something happens in a second. */
export class Rate {
  #second = -1;
  #count = 0;
  #before = 0;

  /** Returns how often it happened in this second so far. */
  add(now: number): number {
    this.#roll(now);
    return ++this.#count;
  }

  /** In the last whole second. */
  perSecond(now: number): number {
    this.#roll(now);
    return this.#before;
  }

  #roll(now: number): void {
    const second = Math.floor(now / 1000);
    if (second === this.#second) return;
    this.#before = second === this.#second + 1 ? this.#count : 0;
    this.#count = 0;
    this.#second = second;
  }
}
