import { errorName } from './error-names.js';
import { ms } from './names.js';
import { LONG_WAIT_MS, MOST_ALIKE } from './signs.js';
import { Rate, RouteTable } from './tables.js';
import { Where } from './where.js';
import type { Now, Outcome, RequestDetails, RequestSummary, Step, StepKind } from './wire.js';

/** The message of a host about a new request. */
export interface Arrival {
  readonly method: string;
  /** The route as declared; undefined until the host has matched it. */
  route(): string | undefined;
  /** Whether the connection is closed: of several pipelined requests, only the first one gets an event. */
  lost(): boolean;
  /** The application's own id of the request, once it has one. */
  requestId?(): string | undefined;
}

/** The facts of a record, besides its kind and its time. Its line becomes text only when somebody reads it. */
export type Facts = Omit<Partial<Step>, 'at' | 'kind'> & { readonly place?: Where | undefined };

/** A call to another server, or a statement, that a request waits for. */
export interface Awaited {
  /** Undefined of a statement. */
  readonly host?: string;
  readonly place: Where | undefined;
  readonly started: number;
}

const NO_ROUTE = '(no route)';
const MOST_STEPS = 500;
/** Beyond those, for what went wrong and how it came out. */
const MOST_SPARED = 100;
const SPARED: ReadonlySet<StepKind> = new Set([
  'failed',
  'no connection',
  'threw',
  'rollback',
  'commit unknown',
  'finding',
  'responded',
  'aborted',
]);
const MOST_SPANS = 50;
const MOST_AWAITED = 100;
/** What still runs on behalf of a request so long after its response is work in the background, which a request happened to start. */
const LINGERS_MS = 10_000;
const DEEPEST_CAUSE = 10;

/** One request, from its arrival until its last scope is closed. */
export class RequestRecord {
  readonly id: number;
  readonly start: number;
  /** The troubles that it was counted for. */
  readonly noted = new Set<string>();
  /** It is one of the requests of a trouble. */
  isKept = false;
  readonly #method: string;
  /** Undefined once the request is over: it holds objects of the host, and with them what the client has sent. */
  #arrival: Arrival | undefined;
  readonly #slowMs: number;
  readonly #arrived = Date.now();
  readonly #steps: (Facts & Pick<Step, 'at' | 'kind'>)[] = [];
  readonly #spans: { box: string; opened: number; closed?: number; where?: readonly string[] }[] = [];
  #route: string | undefined;
  #requestId: string | undefined;
  #state: RequestSummary['state'] = 'open';
  #response: { milliseconds: number; status?: number } | undefined;
  #outcome: Outcome | undefined;
  readonly #counts = { failedAttempts: 0, open: 0, leaks: 0, findings: 0, failures: 0 };
  /** Until the response, with steps beyond those that are kept. */
  readonly #sums = { statements: 0, statementMs: 0, waited: 0, alike: 0 };
  /** The longest of its statements and calls. */
  #longest = 0;
  #hasFailedSteps = false;
  #dropped = 0;
  readonly #awaited = new Set<Awaited>();
  /** The errors that a step names, and those that handlers threw: an error may hold anything, so none is kept. */
  readonly #accounted = new WeakSet();
  readonly #thrown = new WeakSet();
  #threwValue = false;

  constructor(id: number, arrival: Arrival, now: number, slowMs: number) {
    this.id = id;
    this.#method = arrival.method;
    this.#arrival = arrival;
    this.#slowMs = slowMs;
    this.start = now;
    this.step('arrived', now);
  }

  get over(): boolean {
    return this.#state !== 'open';
  }

  /** Nothing more will happen to it. */
  get settled(): boolean {
    return this.over && this.#counts.open === 0;
  }

  /** It failed, was rolled back, was aborted, took long, leaked a scope, or the transaction check found something. */
  get trouble(): boolean {
    const { milliseconds = 0, status = 0 } = this.#response ?? {};
    const { leaks, findings, failedAttempts, failures } = this.#counts;
    if (this.isKept || this.#state === 'aborted' || status >= 500 || milliseconds >= this.#slowMs) return true;
    if (leaks > 0 || findings > 0 || failedAttempts > 0) return true;
    // To roll back and respond with a status of 4xx is what the application has decided, and so is a service that refuses to be created.
    const isRefusal = status >= 400;
    const isStored = this.#outcome === undefined || this.#outcome === 'committed';
    return (failures > 0 && !isRefusal) || !(isStored || (isRefusal && this.#outcome === 'rolled back'));
  }

  /** There may be something wrong, also where the response was as it should be. */
  get suspicious(): boolean {
    const { alike, waited } = this.#sums;
    const isLong = waited >= LONG_WAIT_MS || this.#longest >= LONG_WAIT_MS;
    return this.trouble || alike >= MOST_ALIKE || isLong || this.#hasFailedSteps;
  }

  /** `GET /api/users` */
  get name(): string {
    this.#findRoute();
    return `${this.#method} ${this.#route ?? NO_ROUTE}`;
  }

  get lost(): boolean {
    return this.#arrival?.lost() ?? false;
  }

  /** Whether what runs in its asynchronous context is done on its behalf. */
  includes(now: number): boolean {
    return this.#response === undefined || now - this.start - this.#response.milliseconds < LINGERS_MS;
  }

  begins(awaited: Awaited): void {
    if (this.#awaited.size < MOST_AWAITED) this.#awaited.add(awaited);
  }

  ends(awaited: Awaited): void {
    this.#awaited.delete(awaited);
  }

  /** Adds what happened to it; `now` is when that was complete. */
  step(kind: StepKind, now: number, facts: Facts = {}): void {
    this.#findRoute();
    const { took = 0, error } = facts;
    if (error !== undefined) this.#hasFailedSteps = true;
    if (kind === 'failed') this.#counts.failures++;
    else if (kind === 'finding') this.#counts.findings++;
    // Background work after the response took none of its time.
    else if (!this.over) this.#add(kind, took);
    const isSpared = SPARED.has(kind) || error !== undefined;
    if (this.#steps.length >= (isSpared ? MOST_STEPS + MOST_SPARED : MOST_STEPS)) this.#dropped++;
    // A message with a duration is published at the end, so the step began earlier.
    else this.#steps.push({ kind, at: Math.max(0, now - this.start - took), ...facts });
  }

  /** Returns the index of the new span in `spans`. */
  openSpan(box: string, now: number): number | undefined {
    this.#counts.open++;
    const span = this.#spans.length;
    if (span >= MOST_SPANS) {
      this.#dropped++;
      return undefined;
    }
    this.#spans.push({ box, opened: now - this.start });
    this.step('scope opened', now, { span });
    return span;
  }

  closeSpan(span: number | undefined, now: number): void {
    this.#counts.open--;
    const found = this.#spans[span ?? -1];
    if (!found || span === undefined) return;
    found.closed = now - this.start;
    this.step('scope closed', now, { span });
  }

  leak(span: number | undefined, where: readonly string[]): void {
    this.#counts.leaks++;
    const leaked = this.#spans[span ?? -1];
    if (leaked) leaked.where = where;
  }

  /** Of several the last one counts, but for one that may have been committed: the next does not undo it. */
  transactionFinished(outcome: Outcome): void {
    if (this.#outcome !== undefined && this.#outcome !== 'committed') this.#counts.failedAttempts++;
    if (this.#outcome !== 'unknown') this.#outcome = outcome;
  }

  /** The statement, commit or service that an error came from may have said so already. */
  threw(error: unknown, now: number): void {
    const isObject = typeof error === 'object' && error !== null;
    if (isObject ? this.#thrown.has(error) : this.#threwValue) return;
    if (isObject) this.#thrown.add(error);
    else this.#threwValue = true;
    const known = chainOf(error).some((one) => this.#accounted.has(one));
    const place = error instanceof Error ? new Where(error) : undefined;
    this.step('threw', now, { error: errorName(error), place, ...(known && { known }) });
  }

  /** A step names this error. */
  account(error: unknown): void {
    if (typeof error === 'object' && error !== null) this.#accounted.add(error);
  }

  /** @param late - for how long this process was too busy meanwhile */
  responded(status: number, now: number, late = 0): void {
    this.#complete('responded', now, late > 0 ? { late } : {});
    this.#response = { milliseconds: now - this.start, status };
  }

  aborted(now: number): void {
    const newest = [...this.#awaited].at(-1);
    const doing = newest && `it waited for ${newest.host ?? 'the database'}, for ${ms(now - newest.started)} so far`;
    this.#complete('aborted', now, doing === undefined ? {} : { doing, place: newest?.place });
    this.#response = { milliseconds: now - this.start };
  }

  summary(): RequestSummary {
    this.#findRoute();
    const requestId = this.#requestId ?? this.#arrival?.requestId?.();
    return {
      id: this.id,
      ...(requestId !== undefined && { requestId }),
      method: this.#method,
      route: this.#route ?? NO_ROUTE,
      arrived: this.#arrived,
      state: this.#state,
      ...this.#response,
      ...(this.#outcome && { outcome: this.#outcome }),
      ...this.#counts,
      ...this.#sums,
      trouble: this.trouble,
    };
  }

  details(now: number): RequestDetails {
    const steps = this.#steps.toSorted((one, other) => one.at - other.at).map(readable);
    const elapsed = this.settled ? {} : { elapsed: now - this.start };
    return { ...this.summary(), spans: this.#spans, steps, dropped: this.#dropped, ...elapsed };
  }

  #add(kind: StepKind, took: number): void {
    if (kind === 'statement') {
      this.#sums.statements++;
      this.#sums.statementMs += took;
    } else if (kind === 'connection' || kind === 'no connection') this.#sums.waited += took;
    if (kind === 'statement' || kind === 'call') this.#longest = Math.max(this.#longest, took);
  }

  #complete(kind: 'aborted' | 'responded', now: number, facts: Facts): void {
    this.step(kind, now, facts);
    this.#state = kind;
    this.#sums.alike = mostAlike(this.#steps);
    this.#requestId = this.#arrival?.requestId?.();
    this.#arrival = undefined;
  }

  /** At the first step that has it: Express resets the mount path of a router when an error leaves it. */
  #findRoute(): void {
    this.#route ??= this.#arrival?.route();
  }
}

/** How often it sent one statement, or called one server from one line. Each attempt of a transaction sends the same again. */
function mostAlike(steps: readonly (Facts & Pick<Step, 'kind'>)[]): number {
  const undone = new Set(steps.filter(({ kind }) => kind === 'rollback').map(({ span }) => span));
  const counts = new Map<string, number>();
  for (const { kind, sql, host, span } of steps) {
    if (kind !== 'statement' && kind !== 'call') continue;
    const id = undone.has(span) ? `${span} ${sql}` : `${host} ${sql}`;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return Math.max(0, ...counts.values());
}

/** The error and its causes. */
function chainOf(error: unknown): object[] {
  const chain: object[] = [];
  try {
    for (let one = error; typeof one === 'object' && one !== null && chain.length < DEEPEST_CAUSE;) {
      chain.push(one);
      one = (one as { cause?: unknown }).cause;
    }
  } catch {
    // An object that an application throws may throw when it is read.
  }
  return chain;
}

function readable({ place, ...step }: Facts & Pick<Step, 'at' | 'kind'>): Step {
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
  readonly routes = new RouteTable();
  readonly #options: RequestListOptions;
  /** Each in order of arrival, or of the trouble. */
  readonly #sample = new Map<number, RequestRecord>();
  readonly #trouble = new Map<number, RequestRecord>();
  /** In progress and not in the sample: each may turn out to have trouble. */
  readonly #unlisted = new Set<RequestRecord>();
  readonly #seen = new Rate();
  #changed = new Set<RequestRecord>();
  #ids = 0;
  #arrived = 0;

  constructor(options: RequestListOptions) {
    this.#options = options;
  }

  /** Returns the record of the request, or undefined if too many are in progress. */
  arrive(arrival: Arrival, now: number): RequestRecord | undefined {
    this.#arrived++;
    const isSampled = this.#seen.add(now) <= this.#options.samplesPerSecond;
    if (!isSampled && this.#unlisted.size >= MOST_FOLLOWED) return undefined;
    const record = new RequestRecord(++this.#ids, arrival, now, this.#options.slowMs);
    if (isSampled) this.#put(this.#sample, record, this.#options.keep);
    else this.#unlisted.add(record);
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

  /** Lists it as one that had trouble. */
  keep(record: RequestRecord): void {
    record.isKept = true;
    this.touch(record);
  }

  get(id: number): RequestRecord | undefined {
    return this.#trouble.get(id) ?? this.#sample.get(id);
  }

  /** Those whose connection was closed without an event on their response. */
  lost(): RequestRecord[] {
    const all = [...this.#unlisted, ...this.#sample.values(), ...this.#trouble.values()];
    return all.filter((record) => record.lost);
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

  counts(now: number): Pick<Now, 'arrived' | 'requestsPerSecond' | 'samplesPerSecond'> {
    const { samplesPerSecond } = this.#options;
    return { arrived: this.#arrived, samplesPerSecond, requestsPerSecond: this.#seen.perSecond(now) };
  }

  #put(ring: Map<number, RequestRecord>, record: RequestRecord, most: number): void {
    ring.set(record.id, record);
    const oldest = ring.size > most ? ring.values().next().value : undefined;
    if (!oldest) return;
    ring.delete(oldest.id);
    this.#changed.delete(oldest);
  }
}
