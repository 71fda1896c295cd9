import type { NamesFrom } from './wire.js';

/** If texts are made from data, those beyond this number are counted as one. */
const MOST = 3000;
const THE_REST = '(others)';

/** Texts that a page needs again and again, each sent once and named by its index from then on. */
export class NamesTable {
  readonly #indexes = new Map<string, number>();
  readonly #names: string[] = [];
  #sent = 0;

  indexOf(name: string): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    if (this.#names.length >= MOST && name !== THE_REST) return this.indexOf(THE_REST);
    this.#indexes.set(name, this.#names.length);
    return this.#names.push(name) - 1;
  }

  all(): NamesFrom {
    return { from: 0, texts: this.#names };
  }

  takeNew(): NamesFrom {
    const from = this.#sent;
    this.#sent = this.#names.length;
    return { from, texts: this.#names.slice(from) };
  }
}
