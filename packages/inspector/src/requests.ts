import type { Key } from '@ambit/container';
import { label, ms } from './names.js';
import { LONG_WAIT_MS, MANY_ROWS, MOST_ALIKE, type Sign, type TroubleKind } from './signs.js';
import type { Where } from './where.js';
import { BAD, isWork } from './kinds.js';
import type { Outcome, RequestDetails, RequestSummary, Step, StepKind } from './wire.js';

/** The message of a host about a new request. */
export interface Arrival {
  readonly method: string;
  /** The route as declared; undefined until the host has matched it. */
  route(): string | undefined;
  /** The request of Node, by which others refer to it. */
  readonly raw?: object;
  /** The line that has begun work outside of requests. */
  readonly place?: Where | undefined;
  /** For so long code in the asynchronous context, of work that only a scope delimits, runs on its behalf. */
  readonly enteredMs?: number;
}

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The facts of a step besides its kind and times. */
export interface Facts extends Omit<Partial<Step>, 'at' | 'key' | 'kind' | 'took'> {
  readonly key?: Key | undefined;
  /** A duration of a scope is known when that is closed, and its place when it leaks. */
  took?: number | undefined;
  place?: Where | undefined;
}

/** A step as the hot path keeps it: it is put together only when somebody reads it. */
export interface Recorded {
  readonly kind: StepKind;
  readonly at: number;
  readonly facts: Facts;
  readonly span: number | undefined;
  readonly error: string | undefined;
  readonly late: number;
}

/** A call to another server, or a statement, that a request waits for. */
export interface Awaited {
  /** Undefined of a statement. */
  readonly host: string | undefined;
  readonly place: Where;
  readonly started: number;
  /** Undefined outside of requests. */
  readonly request: RequestRecord | undefined;
}

/** A path is never recorded, so of a 404 nothing is known. */
const NO_ROUTE = 'no route';
const NO_FACTS: Facts = {};
const MOST_STEPS = 500;
/** Beyond those, for what went wrong and how it came out. */
const MOST_SPARED = 100;
const MOST_AWAITED = 100;
/** Code that still runs so long after the response of its request is work in the background, which a request happened to start. */
const LINGERS_MS = 10_000;

/** One request, from its arrival until its last scope is closed: a bounded number of records, and what they come to. */
export class RequestRecord {
  readonly id: number;
  readonly start: number;
  /** That of the store, when it changed last. */
  version = 0;
  /** Its row in a list. */
  readonly summary: Mutable<RequestSummary> & { readonly troubles: TroubleKind[] };
  /** The ids of its troubles. */
  readonly noted: string[] = [];
  /** Undefined once the request is over: it holds objects of the host, and with them what the client has sent. */
  #arrival: Arrival | undefined;
  readonly #slowMs: number;
  readonly #records: Recorded[] = [];
  /** The statements and calls in progress. */
  readonly #awaited: Awaited[] = [];
  /** The number of statements and calls that it has sent until its response. */
  #sent = 0;
  /** The number of scopes that it has opened. */
  scopes = 0;
  #name: string | undefined;
  #isSuspicious = false;
  /** Something in it has thrown. */
  hasThrown = false;
  /** Undefined of a request, and of work whose end is known. */
  readonly enteredMs: number | undefined;
  #hasOutside = false;
  #dropped = 0;

  constructor(id: number, arrival: Arrival, now: number, slowMs: number) {
    this.summary = {
      id,
      method: arrival.method,
      route: NO_ROUTE,
      arrived: Date.now(),
      state: 'open',
      failedAttempts: 0,
      open: 0,
      statements: 0,
      rows: 0,
      troubles: [],
      trouble: false,
    };
    this.id = id;
    this.#arrival = arrival;
    this.#slowMs = slowMs;
    this.enteredMs = arrival.enteredMs;
    this.start = now;
    this.add('arrived', 0, arrival.place ? { place: arrival.place } : NO_FACTS);
  }

  get over(): boolean {
    return this.summary.state !== 'open';
  }

  /** `GET /api/users` */
  get name(): string {
    this.#findRoute();
    return (this.#name ??= `${this.summary.method} ${this.summary.route}`);
  }

  /** Its client got no response, or one of 5xx. */
  get failed(): boolean {
    return (this.summary.status ?? 0) >= 500 || this.summary.state === 'aborted';
  }

  /** Outside of requests. */
  get isWork(): boolean {
    return isWork(this.summary);
  }

  /** It failed, was not committed, was aborted, took long, or has a trouble of another kind. */
  get trouble(): boolean {
    const { state, status = 0, milliseconds = 0, outcome = 'committed', troubles, endless } = this.summary;
    const isCut = endless !== true && (state === 'aborted' || milliseconds >= this.#slowMs);
    if (troubles.length > 0 || status >= 500 || isCut) return true;
    // To roll back and respond with a status of 4xx is what the application has decided.
    return outcome !== 'committed' && !(outcome === 'rolled back' && (status >= 400 || state === 'aborted'));
  }

  /** There may be something wrong, also where the response was as it should be. */
  get suspicious(): boolean {
    const { status = 0, outcome } = this.summary;
    return this.isWork || this.#isSuspicious || this.trouble || (status >= 400 && outcome === 'committed');
  }

  /** The line that asks for a connection, while it waits for one. */
  get asking(): Where | undefined {
    return this.#awaited.findLast(({ host }) => host === undefined)?.place;
  }

  has({ id }: Sign): boolean {
    return this.noted.includes(id);
  }

  note({ id, kind }: Sign): void {
    this.noted.push(id);
    if (!this.summary.troubles.includes(kind)) this.summary.troubles.push(kind);
  }

  /** True if code in its asynchronous context still runs on its behalf. */
  includes(now: number): boolean {
    const { milliseconds } = this.summary;
    if (this.isWork) return !this.over && now - this.start < (this.enteredMs ?? Infinity);
    return milliseconds === undefined || now - this.start - milliseconds < LINGERS_MS;
  }

  begins(awaited: Awaited): void {
    if (this.#awaited.length < MOST_AWAITED) this.#awaited.push(awaited);
  }

  ends(awaited: Awaited): void {
    const index = this.#awaited.lastIndexOf(awaited);
    if (index !== -1) this.#awaited.splice(index, 1);
  }

  /** Returns the record, if it is kept. @param late - for how long of it this process was too busy */
  add(kind: StepKind, at: number, facts: Facts, span?: number, error?: string, late = 0): Recorded | undefined {
    this.#findRoute();
    const { took, status = 0 } = facts;
    const isLong = took !== undefined && took >= LONG_WAIT_MS;
    if (error !== undefined || isLong || status >= 500 || kind === 'finding') this.#isSuspicious = true;
    // Background work after the response took none of its time.
    if ((kind === 'statement' || kind === 'call') && !this.over) {
      this.summary.rows += facts.rows ?? 0;
      if (kind === 'statement') this.summary.statements++;
      if (++this.#sent >= MOST_ALIKE || this.summary.rows >= MANY_ROWS) this.#isSuspicious = true;
    }
    if (facts.outside) this.#hasOutside = true;
    if (kind === 'threw') this.hasThrown = true;
    const isSpared = error !== undefined || BAD.has(kind) || kind === 'responded';
    if (this.#records.length >= (isSpared ? MOST_STEPS + MOST_SPARED : MOST_STEPS)) {
      this.#dropped++;
      return undefined;
    }
    const record = { kind, at, facts, span, error, late };
    this.#records.push(record);
    return record;
  }

  /** Returns the record of the scope, if it is kept. */
  scopeOpened(box: string, now: number): Recorded | undefined {
    this.summary.open++;
    return this.add('scope', now - this.start, { box, took: undefined, place: undefined }, this.scopes++);
  }

  scopeClosed(record: Recorded | undefined, now: number): void {
    this.summary.open--;
    if (record) record.facts.took = now - this.start - record.at;
  }

  /** The last one of several counts, but for one that may have been committed: the next does not undo it. */
  transactionFinished(outcome: Outcome): void {
    const { summary } = this;
    if (summary.outcome !== undefined && summary.outcome !== 'committed') summary.failedAttempts++;
    if (summary.outcome !== 'unknown') summary.outcome = outcome;
    if (outcome === 'rolled back' && this.#hasOutside) this.#isSuspicious = true;
  }

  /** @param late - for how long this process was too busy meanwhile */
  responded(status: number, now: number, late: number): void {
    this.#complete('responded', now, NO_FACTS, late);
    this.summary.status = status;
  }

  aborted(now: number): void {
    const newest = this.#awaited.at(-1);
    const what = newest && `it waited for ${newest.host ?? 'the database'}, for ${ms(now - newest.started)} so far`;
    const { host, place } = newest ?? {};
    this.#complete('aborted', now, what ? { doing: what, place, ...(host !== undefined && { host }) } : NO_FACTS);
  }

  details(now: number): RequestDetails {
    const steps = this.#records.toSorted((one, other) => one.at - other.at).map(readable);
    const isSettled = this.over && this.summary.open === 0;
    return { ...this.summary, steps, dropped: this.#dropped, ...(!isSettled && { elapsed: now - this.start }) };
  }

  #complete(kind: 'aborted' | 'responded', now: number, facts: Facts, late = 0): void {
    const { summary } = this;
    const at = now - this.start;
    this.add(kind, at, facts, undefined, undefined, late);
    summary.state = kind;
    summary.milliseconds = at;
    this.#arrival = undefined;
  }

  /** At the first record that has it: Express resets the mount path of a router when an error leaves it. */
  #findRoute(): void {
    const { summary } = this;
    if (summary.route !== NO_ROUTE || !this.#arrival) return;
    const route = this.#arrival.route();
    if (route !== undefined) [summary.route, this.#name] = [route, undefined];
  }
}

function readable({ facts, late, ...times }: Recorded): Step {
  const { place, key, where, ...more } = facts;
  return {
    ...more,
    ...times,
    key: key && label(key),
    late: late || undefined,
    where: place?.line ?? where,
    caller: place?.caller,
  };
}
