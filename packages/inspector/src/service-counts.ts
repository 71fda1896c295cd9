import type { ServiceStats } from './wire.js';

/** The instances of one key in one kind of scope. */
export class ServiceCount {
  readonly box: string;
  readonly key: string;
  created = 0;
  alive: number | undefined;
  #totalMs = 0;
  #longestMs = 0;

  constructor(box: string, key: string) {
    this.box = box;
    this.key = key;
  }

  add(milliseconds: number): void {
    this.created++;
    this.#totalMs += milliseconds;
    this.#longestMs = Math.max(this.#longestMs, milliseconds);
  }

  toJSON(): ServiceStats {
    const { box, key, created, alive } = this;
    const averageMs = this.#totalMs / created;
    return { box, key, created, ...(alive !== undefined && { alive }), averageMs, longestMs: this.#longestMs };
  }
}

/** If keys are made from data, services beyond this number are not counted. */
const MOST = 2000;

export class ServiceCounts {
  readonly #all = new Map<string, ServiceCount>();
  #changed = new Set<ServiceCount>();

  /** An instance that its scope keeps. */
  created(box: string, key: string, milliseconds: number): ServiceCount | undefined {
    const count = this.transientCreated(box, key, milliseconds);
    if (count) count.alive = (count.alive ?? 0) + 1;
    return count;
  }

  transientCreated(box: string, key: string, milliseconds: number): ServiceCount | undefined {
    const id = `${box}\n${key}`;
    let count = this.#all.get(id);
    if (!count) {
      if (this.#all.size >= MOST) return undefined;
      this.#all.set(id, (count = new ServiceCount(box, key)));
    }
    count.add(milliseconds);
    this.#changed.add(count);
    return count;
  }

  removed(count: ServiceCount): void {
    if (count.alive !== undefined) count.alive--;
    this.#changed.add(count);
  }

  all(): ServiceStats[] {
    return Array.from(this.#all.values(), (count) => count.toJSON());
  }

  takeChanged(): ServiceStats[] {
    const changed = this.#changed;
    this.#changed = new Set();
    return Array.from(changed, (count) => count.toJSON());
  }
}
