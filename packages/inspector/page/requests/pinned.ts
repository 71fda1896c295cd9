import type { RequestDetails } from '../../src/wire.js';
import { refOf } from '../address.js';

/** Stands for the recording, in the name of a request that was imported. */
export const IMPORTED = 'imported';

const STORED = 'ambit-inspector-pinned';
/** The browser keeps some megabytes for a tab. */
const MOST = 30;

/** Requests that this tab keeps, also when the server has forgotten them, by `<boot>-<id>`. */
export class Pinned {
  readonly #all: Map<string, RequestDetails>;
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.#all = new Map(read());
  }

  get size(): number {
    return this.#all.size;
  }

  has(ref: string): boolean {
    return this.#all.has(ref);
  }

  get(ref: string): RequestDetails | undefined {
    return this.#all.get(ref);
  }

  /** The one that was pinned last is the first. */
  entries(): [string, RequestDetails][] {
    return [...this.#all].toReversed();
  }

  /** Pins it, or replaces what is kept of it. */
  put(ref: string, details: RequestDetails): void {
    this.#all.set(ref, details);
    const [oldest] = this.#all.keys();
    if (this.#all.size > MOST && oldest !== undefined) this.#all.delete(oldest);
    this.#changed();
  }

  /** Keeps a request that the server does not have, under a name of its own, which is returned. */
  import(details: RequestDetails): string {
    let id = 1;
    while (this.#all.has(refOf(IMPORTED, id))) id++;
    const ref = refOf(IMPORTED, id);
    this.put(ref, { ...details, id });
    return ref;
  }

  remove(ref: string): void {
    if (this.#all.delete(ref)) this.#changed();
  }

  #changed(): void {
    try {
      sessionStorage.setItem(STORED, JSON.stringify([...this.#all]));
    } catch {
      // The browser has no space left: they are kept until the tab is closed or loaded again.
    }
    this.#onChange();
  }
}

function read(): [string, RequestDetails][] {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? '[]') as [string, RequestDetails][];
  } catch {
    return [];
  }
}
