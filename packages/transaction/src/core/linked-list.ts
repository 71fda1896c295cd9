/** What is in a list knows its neighbours, so it is in one at a time. */
export interface Linked<T> {
  earlier: T | undefined;
  later: T | undefined;
}

/**
 * In the order of arrival; whoever leaves from the middle leaves as cheaply as from an end. For what comes and goes with
 * every request, in place of a Map or Set: each time one of these is full of what has left it takes a new table, and the
 * old one keeps what was in it, and the new one, from being collected while young.
 */
export class LinkedList<T extends Linked<T>> {
  #first: T | undefined = undefined;
  #last: T | undefined = undefined;
  #size = 0;

  get first(): T | undefined {
    return this.#first;
  }

  get size(): number {
    return this.#size;
  }

  add(item: T): void {
    item.earlier = this.#last;
    if (this.#last) this.#last.later = item;
    else this.#first = item;
    this.#last = item;
    this.#size += 1;
  }

  /** Does nothing with one that has left already. */
  remove(item: T): void {
    const { earlier, later } = item;
    if (!earlier && this.#first !== item) return;
    if (earlier) earlier.later = later;
    else this.#first = later;
    if (later) later.earlier = earlier;
    else this.#last = earlier;
    item.earlier = item.later = undefined;
    this.#size -= 1;
  }
}
