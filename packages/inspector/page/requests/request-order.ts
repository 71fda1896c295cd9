/** Ids in descending order of position: the newest request, which has the highest id, is at position 0. */
export class RequestOrder {
  /** Ascending, so that a new request is appended. */
  #ids: number[] = [];

  get length(): number {
    return this.#ids.length;
  }

  reset(ids: readonly number[]): void {
    this.#ids = ids.toSorted((one, other) => one - other);
  }

  add(id: number): void {
    const index = this.#indexFrom(id);
    if (this.#ids[index] !== id) this.#ids.splice(index, 0, id);
  }

  remove(id: number): void {
    const index = this.#indexFrom(id);
    if (this.#ids[index] === id) this.#ids.splice(index, 1);
  }

  has(id: number): boolean {
    return this.#ids[this.#indexFrom(id)] === id;
  }

  at(position: number): number | undefined {
    return this.#ids[this.#ids.length - 1 - position];
  }

  /** The position of the request, or of the next older one. */
  positionOf(id: number): number {
    const index = this.#indexFrom(id);
    return this.#ids.length - 1 - (this.#ids[index] === id ? index : index - 1);
  }

  /** How many are newer. */
  newerThan(id: number): number {
    return this.#ids.length - this.#indexFrom(id + 1);
  }

  /** The index of the first id that is not below this one. */
  #indexFrom(id: number): number {
    let low = 0;
    let high = this.#ids.length;
    // Almost always it is a new one.
    if (high > 0 && (this.#ids[high - 1] ?? 0) < id) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#ids[middle] ?? 0) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
