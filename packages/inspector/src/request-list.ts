import { Rate } from './rate.js';
import { type Arrival, RequestRecord } from './request-record.js';
import type { RequestSummary } from './wire.js';

/** The newest requests, and which of them have changed. */
export class RequestList {
  readonly #keep: number;
  readonly #samplesPerSecond: number;
  /** In order of arrival. */
  readonly #records = new Map<number, RequestRecord>();
  readonly #seen = new Rate();
  readonly #recorded = new Rate();
  #changed = new Set<RequestRecord>();
  #ids = 0;

  constructor({ keep, samplesPerSecond }: { readonly keep: number; readonly samplesPerSecond: number }) {
    this.#keep = keep;
    this.#samplesPerSecond = samplesPerSecond;
  }

  /** Returns the record of the request, or undefined if too many arrived in this second. */
  arrive(arrival: Arrival, now: number): RequestRecord | undefined {
    if (this.#seen.add(now) > this.#samplesPerSecond) return undefined;
    this.#recorded.add(now);
    const record = new RequestRecord(++this.#ids, arrival, now);
    this.#records.set(record.id, record);
    const oldest = this.#records.size > this.#keep ? this.#records.values().next().value : undefined;
    if (oldest) {
      this.#records.delete(oldest.id);
      this.#changed.delete(oldest);
    }
    this.touch(record);
    return record;
  }

  /** Marks a record as changed, unless it was dropped for a newer one. */
  touch(record: RequestRecord | undefined): void {
    if (record && this.#records.has(record.id)) this.#changed.add(record);
  }

  get(id: number): RequestRecord | undefined {
    return this.#records.get(id);
  }

  /** Marks requests as aborted whose connection was closed without an event on their response. */
  sweep(now: number): void {
    for (const record of this.#records.values()) {
      if (!record.lost) continue;
      record.aborted(now);
      this.touch(record);
    }
  }

  all(): RequestSummary[] {
    return Array.from(this.#records.values(), (record) => record.summary());
  }

  takeChanged(): RequestSummary[] {
    const changed = this.#changed;
    this.#changed = new Set();
    return Array.from(changed, (record) => record.summary());
  }

  perSecond(now: number): { requestsPerSecond: number; recordedPerSecond: number } {
    return { requestsPerSecond: this.#seen.perSecond(now), recordedPerSecond: this.#recorded.perSecond(now) };
  }
}
