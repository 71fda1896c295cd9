import type { RequestList } from './request-list.js';
import type { RequestRecord, StepDetails } from './request-record.js';
import type { ScopeEntry } from './scope-entry.js';
import type { StepKind } from './wire.js';

export interface TrailOptions {
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** The request on whose behalf this code runs. */
  readonly current: () => RequestRecord | undefined;
}

/** Knows what is recorded of an open scope, and adds steps to the request that it belongs to. */
export class Trail {
  readonly now: () => number;
  readonly current: () => RequestRecord | undefined;
  readonly #requests: RequestList;
  readonly #entries = new WeakMap<object, ScopeEntry>();

  constructor({ now, current }: TrailOptions, requests: RequestList) {
    this.now = now;
    this.current = current;
    this.#requests = requests;
  }

  entryOf(scope: object): ScopeEntry | undefined {
    return this.#entries.get(scope);
  }

  add(scope: object, entry: ScopeEntry): void {
    this.#entries.set(scope, entry);
    this.#requests.touch(entry.request);
  }

  remove(scope: object): void {
    this.#entries.delete(scope);
  }

  /** Adds a step in a scope; without a scope, or one that belongs to no request, to the request on whose behalf the code runs. */
  step(entry: ScopeEntry | undefined, kind: StepKind, details: Omit<StepDetails, 'span'>): RequestRecord | undefined {
    const request = entry?.request ?? this.current();
    const span = entry?.request ? entry.span : undefined;
    request?.step(kind, this.now(), span === undefined ? details : { ...details, span });
    this.#requests.touch(request);
    return request;
  }
}
