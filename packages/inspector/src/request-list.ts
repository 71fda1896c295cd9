import { Rate } from './rate.js';
import { NamesTable } from './names-table.js';
import { type Arrival, RequestRecord } from './request-record.js';
import { RouteTable } from './route-table.js';
import type { RequestSummary } from './wire.js';

/** So many requests in progress are followed; those that arrive beyond are counted only. */
const MOST_FOLLOWED = 10_000;

export interface RequestListOptions {
  readonly samplesPerSecond: number;
  readonly keep: number;
  readonly keepTrouble: number;
  readonly slowMs: number;
}

/** The newest requests of a sample, all that had trouble, and which of them have changed. */
export class RequestList {
  readonly names = new NamesTable();
  readonly routes = new RouteTable();
  readonly #options: RequestListOptions;
  /** Each in order of arrival, or of the trouble. */
  readonly #sample = new Map<number, RequestRecord>();
  readonly #trouble = new Map<number, RequestRecord>();
  /** In progress and not in the sample: each may turn out to have trouble. */
  readonly #unlisted = new Set<RequestRecord>();
  readonly #seen = new Rate();
  readonly #recorded = new Rate();
  #changed = new Set<RequestRecord>();
  #ids = 0;

  constructor(options: RequestListOptions) {
    this.#options = options;
  }

  /** Returns the record of the request, or undefined if too many are in progress. */
  arrive(arrival: Arrival, now: number): RequestRecord | undefined {
    const isSampled = this.#seen.add(now) <= this.#options.samplesPerSecond;
    if (!isSampled && this.#unlisted.size >= MOST_FOLLOWED) return undefined;
    const record = new RequestRecord(++this.#ids, arrival, now, { slowMs: this.#options.slowMs, names: this.names });
    if (isSampled) {
      this.#recorded.add(now);
      this.#put(this.#sample, record, this.#options.keep);
    } else this.#unlisted.add(record);
    this.touch(record);
    return record;
  }

  /** Marks a record as changed, if it is listed. It is from now on if it has trouble. */
  touch(record: RequestRecord | undefined): void {
    if (!record) return;
    if (record.trouble && !this.#trouble.has(record.id)) {
      this.#sample.delete(record.id);
      this.#unlisted.delete(record);
      this.#put(this.#trouble, record, this.#options.keepTrouble);
    } else if (record.settled) this.#unlisted.delete(record);
    if (this.get(record.id) === record) this.#changed.add(record);
  }

  /** Called once for each request, when its response is sent or its client has disconnected. */
  completed(record: RequestRecord): void {
    this.routes.add(record.summary());
    this.touch(record);
  }

  get(id: number): RequestRecord | undefined {
    return this.#trouble.get(id) ?? this.#sample.get(id);
  }

  /** Marks requests as aborted whose connection was closed without an event on their response. */
  sweep(now: number): void {
    for (const record of [...this.#unlisted, ...this.#sample.values(), ...this.#trouble.values()]) {
      if (!record.lost) continue;
      record.aborted(now);
      this.completed(record);
    }
  }

  all(): RequestSummary[] {
    const listed = [...this.#sample.values(), ...this.#trouble.values()].toSorted((one, other) => one.id - other.id);
    return listed.map((record) => record.summary());
  }

  takeChanged(): RequestSummary[] {
    const changed = this.#changed;
    this.#changed = new Set();
    return Array.from(changed, (record) => record.summary());
  }

  perSecond(now: number): { requestsPerSecond: number; recordedPerSecond: number } {
    return { requestsPerSecond: this.#seen.perSecond(now), recordedPerSecond: this.#recorded.perSecond(now) };
  }

  #put(ring: Map<number, RequestRecord>, record: RequestRecord, most: number): void {
    ring.set(record.id, record);
    const oldest = ring.size > most ? ring.values().next().value : undefined;
    if (!oldest) return;
    ring.delete(oldest.id);
    this.#changed.delete(oldest);
  }
}
