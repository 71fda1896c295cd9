import { Lateness } from './loop.js';
import type { ScopeEntry } from './open-scopes.js';
import type { RequestList, RequestRecord, StepDetails } from './requests.js';
import { LONG_WAIT_MS } from './signs.js';
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
  readonly lateness = new Lateness();
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
    this.stepOf(request, kind, span === undefined ? details : { ...details, span });
    return request;
  }

  stepOf(request: RequestRecord | undefined, kind: StepKind, details: StepDetails): void {
    const { took = 0 } = details;
    const now = this.now();
    const late = took >= LONG_WAIT_MS ? this.lateness.within(now - took, now) : 0;
    request?.step(kind, now, late > 0 ? { ...details, late } : details);
    this.#requests.touch(request);
  }
}
