/** An item of a list knows its neighbours, so it is in one list at a time. */
export interface Linked<T> {
  earlier: T | undefined;
  later: T | undefined;
}

/**
 * Items in the order of arrival; one is removed from the middle as cheaply as from either side. For items that come and go
 * with every request, instead of a Map or Set: these grow a new table whenever removed entries fill the old one, and the
 * old table keeps its entries and the new table from being collected while they are young.
 */
export class LinkedList<T extends Linked<T>> {
  /** Only the list itself sets these two. */
  first: T | undefined = undefined;
  size = 0;
  #last: T | undefined = undefined;

  add(item: T): void {
    item.earlier = this.#last;
    if (this.#last) this.#last.later = item;
    else this.first = item;
    this.#last = item;
    this.size += 1;
  }

  /** Does nothing with an item that was removed already. */
  remove(item: T): void {
    const { earlier, later } = item;
    if (!earlier && this.first !== item) return;
    if (earlier) earlier.later = later;
    else this.first = later;
    if (later) later.earlier = earlier;
    else this.#last = earlier;
    item.earlier = item.later = undefined;
    this.size -= 1;
  }
}
