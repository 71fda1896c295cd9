import { NamesTable, Rate, RouteTable } from './tables.js';
import type { Where } from './where.js';
import type { Outcome, RequestDetails, RequestSummary, ScopeSpan, Step, StepKind } from './wire.js';

type Sums = Pick<RequestSummary, 'alike' | 'keys' | 'statementMs' | 'statements' | 'texts' | 'waited'>;

/** The totals of a request; they include steps beyond those that are kept. */
export class RequestSums {
  readonly #names: NamesTable;
  readonly #sent = new Map<number, number>();
  readonly #keys = new Set<number>();
  #statements = 0;
  #statementMs = 0;
  #waited = 0;

  constructor(names: NamesTable) {
    this.#names = names;
  }

  created(key: string): void {
    this.#keys.add(this.#names.indexOf(key));
  }

  statement(sql: string, milliseconds: number): void {
    const text = this.#names.indexOf(sql);
    this.#sent.set(text, (this.#sent.get(text) ?? 0) + 1);
    this.#statements++;
    this.#statementMs += milliseconds;
  }

  waited(milliseconds: number): void {
    this.#waited += milliseconds;
  }

  toJSON(): Sums {
    return {
      statements: this.#statements,
      statementMs: this.#statementMs,
      alike: Math.max(0, ...this.#sent.values()),
      waited: this.#waited,
      texts: [...this.#sent.keys()],
      keys: [...this.#keys],
    };
  }
}

/** The facts that a host publishes about a new request. */
export interface Arrival {
  readonly method: string;
  /** The route as declared; undefined until the host has matched it. */
  route(): string | undefined;
  /** Whether the connection is closed: of several pipelined requests, only the first one gets an event. */
  lost(): boolean;
  /** The application's own id of the request, once it has one. */
  requestId?(): string | undefined;
}

export interface RecordOptions {
  readonly slowMs: number;
  readonly names: NamesTable;
}

/** Its line of code is text only when somebody reads it. */
export type StepDetails = Partial<Omit<Step, 'at' | 'kind'>> & { readonly place?: Where | undefined };

/** From good to bad: the list shows the worst one. */
const BY_SEVERITY: readonly Outcome[] = ['committed', 'refused', 'rolled back', 'unknown'];
const NO_ROUTE = '(no route)';
const MOST_STEPS = 500;
const MOST_SPANS = 50;

/** One request, from its arrival until its last scope is closed. */
export class RequestRecord {
  readonly id: number;
  readonly #arrival: Arrival;
  readonly #slowMs: number;
  readonly #start: number;
  readonly #arrived: number;
  readonly #steps: (Step & StepDetails)[] = [];
  readonly #spans: { box: string; opened: number; closed?: number; where?: readonly string[] }[] = [];
  #route: string | undefined;
  #state: RequestSummary['state'] = 'open';
  #response: { milliseconds: number; status?: number } | undefined;
  #outcome: Outcome | undefined;
  #dropped = 0;
  #open = 0;
  #leaks = 0;
  #findings = 0;
  #failures = 0;
  readonly #sums: RequestSums;

  constructor(id: number, arrival: Arrival, now: number, { slowMs, names }: RecordOptions) {
    this.id = id;
    this.#arrival = arrival;
    this.#slowMs = slowMs;
    this.#sums = new RequestSums(names);
    this.#start = now;
    this.#arrived = Date.now();
    this.step('arrived', now);
  }

  get over(): boolean {
    return this.#state !== 'open';
  }

  /** Nothing more will happen to it. */
  get settled(): boolean {
    return this.over && this.#open === 0;
  }

  /** It failed, was rolled back, was aborted, took long, leaked a scope, or the transaction check found something. */
  get trouble(): boolean {
    const { milliseconds = 0, status = 0 } = this.#response ?? {};
    if (this.#state === 'aborted' || status >= 500 || milliseconds >= this.#slowMs) return true;
    return (
      this.#leaks > 0 ||
      this.#findings > 0 ||
      this.#failures > 0 ||
      (this.#outcome !== undefined && this.#outcome !== 'committed')
    );
  }

  /** `GET /api/users` */
  get name(): string {
    this.#findRoute();
    return `${this.#arrival.method} ${this.#route ?? NO_ROUTE}`;
  }

  get lost(): boolean {
    return !this.over && this.#arrival.lost();
  }

  step(kind: StepKind, now: number, details: StepDetails = {}): void {
    this.#findRoute();
    this.#addUp(kind, details);
    if (this.#steps.length >= MOST_STEPS) {
      this.#dropped++;
      return;
    }
    const { took = 0 } = details;
    // A message with a duration is published at the end, so the step began earlier.
    this.#steps.push({ kind, at: Math.max(0, now - this.#start - took), ...details });
  }

  /** Returns the index of the new span in `spans`. */
  openSpan(box: string, now: number): number | undefined {
    this.#open++;
    const span = this.#spans.length;
    if (span >= MOST_SPANS) {
      this.#dropped++;
      return undefined;
    }
    this.#spans.push({ box, opened: now - this.#start });
    this.step('scope opened', now, { span });
    return span;
  }

  closeSpan(span: number | undefined, now: number): void {
    this.#open--;
    const found = span === undefined ? undefined : this.#spans[span];
    if (!found) return;
    found.closed = now - this.#start;
    this.step('scope closed', now, span === undefined ? {} : { span });
  }

  leak(span: number | undefined, where: readonly string[]): void {
    this.#leaks++;
    const leaked = span === undefined ? undefined : this.#spans[span];
    if (leaked) leaked.where = where;
  }

  found(now: number, details: StepDetails): void {
    this.#findings++;
    this.step('finding', now, details);
  }

  transactionFinished(outcome: Outcome): void {
    const worse = BY_SEVERITY.indexOf(outcome) > (this.#outcome ? BY_SEVERITY.indexOf(this.#outcome) : -1);
    if (worse) this.#outcome = outcome;
  }

  responded(status: number, now: number): void {
    if (this.over) return;
    this.#state = 'responded';
    this.#response = { milliseconds: now - this.#start, status };
    this.step('responded', now);
  }

  aborted(now: number): void {
    if (this.over) return;
    this.#state = 'aborted';
    this.#response = { milliseconds: now - this.#start };
    this.step('aborted', now);
  }

  summary(): RequestSummary {
    this.#findRoute();
    const requestId = this.#arrival.requestId?.();
    return {
      id: this.id,
      ...(requestId !== undefined && { requestId }),
      method: this.#arrival.method,
      route: this.#route ?? NO_ROUTE,
      arrived: this.#arrived,
      state: this.#state,
      ...this.#response,
      ...(this.#outcome && { outcome: this.#outcome }),
      open: this.#open,
      leaks: this.#leaks,
      findings: this.#findings,
      failures: this.#failures,
      ...this.#sums.toJSON(),
      trouble: this.trouble,
    };
  }

  details(now: number): RequestDetails {
    const spans: readonly ScopeSpan[] = this.#spans;
    const steps = this.#steps.toSorted((one, other) => one.at - other.at).map(readable);
    const isGoingOn = !this.over || this.#open > 0;
    return {
      ...this.summary(),
      spans,
      steps,
      dropped: this.#dropped,
      ...(isGoingOn && { elapsed: now - this.#start }),
    };
  }

  #addUp(kind: StepKind, { key = '', sql = '', took = 0 }: StepDetails): void {
    if (kind === 'created') this.#sums.created(key);
    else if (kind === 'statement') this.#sums.statement(sql, took);
    else if (kind === 'connection' || kind === 'no connection') this.#sums.waited(took);
    else if (kind === 'failed') this.#failures++;
  }

  /** At the first step that has it: Express resets the mount path of a router when an error leaves it. */
  #findRoute(): void {
    this.#route ??= this.#arrival.route();
  }
}

function readable({ place, ...step }: Step & StepDetails): Step {
  const where = place?.line;
  return where === undefined ? step : { ...step, where };
}

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
