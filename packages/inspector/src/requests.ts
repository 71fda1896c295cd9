import { errorName } from './error-names.js';
import { ms } from './names.js';
import { NamesTable, Rate, RouteTable } from './tables.js';
import { LONG_WAIT_MS, MOST_ALIKE } from './signs.js';
import { Where } from './where.js';
import type { Now, Outcome, RequestDetails, RequestSummary, ScopeSpan, Step, StepKind } from './wire.js';

type Sums = Pick<RequestSummary, 'alike' | 'keys' | 'statementMs' | 'statements' | 'texts' | 'waited'>;

/** The totals of a request; they include steps beyond those that are kept. */
export class RequestSums {
  readonly #names: NamesTable;
  readonly #sent = new Map<number, number>();
  /** Of each transaction that is open. */
  readonly #attempts = new Map<number, Map<number, number>>();
  /** Of those that were rolled back, the one that sent a statement most often. */
  #alikeBefore = 0;
  readonly #keys = new Set<number>();
  #statements = 0;
  #statementMs = 0;
  #waited = 0;
  /** Of its statements and calls. */
  #longest = 0;

  constructor(names: NamesTable) {
    this.#names = names;
  }

  created(key: string): void {
    this.#keys.add(this.#names.indexOf(key));
  }

  statement(sql: string, milliseconds: number, span: number | undefined): void {
    const text = this.#names.indexOf(sql);
    add(this.#sent, text, 1);
    if (span !== undefined) {
      const attempt = this.#attempts.get(span) ?? new Map<number, number>();
      this.#attempts.set(span, attempt);
      add(attempt, text, 1);
    }
    this.#statements++;
    this.#statementMs += milliseconds;
    this.called(milliseconds);
  }

  committed(span: number): void {
    this.#attempts.delete(span);
  }

  /** The next attempt sends the same again, which is no N+1. */
  rolledBack(span: number): void {
    const attempt = this.#attempts.get(span) ?? new Map<number, number>();
    for (const [text, count] of attempt) add(this.#sent, text, -count);
    this.#alikeBefore = Math.max(this.#alikeBefore, ...attempt.values());
    this.#attempts.delete(span);
  }

  waited(milliseconds: number): void {
    this.#waited += milliseconds;
  }

  called(milliseconds: number): void {
    this.#longest = Math.max(this.#longest, milliseconds);
  }

  /** It sent a statement often, or waited long. */
  get suspicious(): boolean {
    return this.#alike >= MOST_ALIKE || this.#waited >= LONG_WAIT_MS || this.#longest >= LONG_WAIT_MS;
  }

  get #alike(): number {
    return Math.max(this.#alikeBefore, ...this.#sent.values());
  }

  toJSON(): Sums {
    return {
      statements: this.#statements,
      statementMs: this.#statementMs,
      alike: this.#alike,
      waited: this.#waited,
      texts: [...this.#sent.keys()],
      keys: [...this.#keys],
    };
  }
}

function add(counts: Map<number, number>, key: number, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/** What a request waits for: a call to another server, or the database. */
export interface Awaited {
  /** Undefined of a statement. */
  readonly host?: string;
  readonly place: Where | undefined;
  readonly started: number;
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

const NO_ROUTE = '(no route)';
/** So soon a transaction reports what the pool has reported. */
const SAME_MS = 5;
const MOST_STEPS = 500;
/** Beyond those, for what went wrong and how it came out. */
const MOST_SPARED = 100;
const MANY: ReadonlySet<StepKind> = new Set([
  'scope opened',
  'created',
  'connection',
  'begin',
  'statement',
  'call',
  'commit',
  'line',
  'disposed',
  'scope closed',
]);
const MOST_SPANS = 50;
const MOST_AWAITED = 100;
/** What still runs on behalf of a request so long after its response is work in the background, which a request happened to start. */
const LINGERS_MS = 10_000;

/** One request, from its arrival until its last scope is closed. */
export class RequestRecord {
  readonly id: number;
  readonly #method: string;
  /** Undefined once the request is over: it holds objects of the host, and with them what the client has sent. */
  #arrival: Arrival | undefined;
  readonly #slowMs: number;
  readonly start: number;
  readonly #arrived: number;
  readonly #steps: (Omit<Step, 'span'> & StepDetails & { span?: number })[] = [];
  readonly #spans: { box: string; opened: number; closed?: number; where?: readonly string[] }[] = [];
  #route: string | undefined;
  #state: RequestSummary['state'] = 'open';
  #response: { milliseconds: number; status?: number } | undefined;
  #outcome: Outcome | undefined;
  #failedAttempts = 0;
  #dropped = 0;
  #open = 0;
  #leaks = 0;
  #findings = 0;
  #failures = 0;
  readonly #sums: RequestSums;
  readonly #awaited = new Set<Awaited>();
  #requestId: string | undefined;
  /** The errors that a step names, and those that handlers threw: an error may hold anything, so none is kept. */
  readonly #accounted = new WeakSet();
  readonly #thrown = new WeakSet();
  #threwValue = false;
  #hasFailedSteps = false;
  /** The troubles that it was counted for. */
  readonly noted = new Set<string>();
  /** It is one of the requests of a trouble. */
  isKept = false;

  constructor(id: number, arrival: Arrival, now: number, { slowMs, names }: RecordOptions) {
    this.id = id;
    this.#method = arrival.method;
    this.#arrival = arrival;
    this.#slowMs = slowMs;
    this.#sums = new RequestSums(names);
    this.start = now;
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
    if (this.isKept) return true;
    const { milliseconds = 0, status = 0 } = this.#response ?? {};
    if (this.#state === 'aborted' || status >= 500 || milliseconds >= this.#slowMs) return true;
    if (this.#leaks > 0 || this.#findings > 0 || this.#failedAttempts > 0) return true;
    // To roll back and respond with a status of 4xx is what the application has decided, and so is a service that refuses to be created.
    const isRefusal = status >= 400;
    if (this.#failures > 0 && !isRefusal) return true;
    return (
      this.#outcome !== undefined && this.#outcome !== 'committed' && !(isRefusal && this.#outcome === 'rolled back')
    );
  }

  /** There may be something wrong, also where the response was as it should be. */
  get suspicious(): boolean {
    return this.trouble || this.#sums.suspicious || this.#hasFailedSteps;
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

  /** What it waited for in most of this time. */
  awaited(from: number, to: number): { readonly what: string; readonly place: Where | undefined } | undefined {
    const calls = this.#steps.flatMap(({ kind, host, place, at, took = 0 }) => {
      const started = this.start + at;
      return kind === 'call' ? [{ host, place, started, until: started + took }] : [];
    });
    const all = [...calls, ...Array.from(this.#awaited, (one) => ({ ...one, until: to }))].map((one) => ({
      ...one,
      took: Math.min(one.until, to) - Math.max(one.started, from),
    }));
    const [longest] = all.toSorted((one, other) => other.took - one.took);
    // Several calls to it that follow one another.
    const took = all.reduce((sum, one) => sum + (one.host === longest?.host ? Math.max(0, one.took) : 0), 0);
    if (!longest || took <= 0 || took < (to - from) / 2) return undefined;
    const { host = 'the database', place } = longest;
    return { what: `it waited ${ms(took)} for ${host}`, place };
  }

  step(kind: StepKind, now: number, details: StepDetails = {}): void {
    this.#findRoute();
    this.#addUp(kind, details);
    const isOneOfMany = MANY.has(kind) && details.error === undefined;
    if (this.#steps.length >= (isOneOfMany ? MOST_STEPS : MOST_STEPS + MOST_SPARED)) {
      this.#dropped++;
      return;
    }
    const { took = 0 } = details;
    // A message with a duration is published at the end, so the step began earlier.
    this.#steps.push({ kind, at: Math.max(0, now - this.start - took), ...details });
  }

  /** Returns the index of the new span in `spans`. */
  openSpan(box: string, now: number): number | undefined {
    this.#open++;
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
    this.#open--;
    const found = span === undefined ? undefined : this.#spans[span];
    if (!found) return;
    found.closed = now - this.start;
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

  /**
   * Whether this is the wait for a connection that the pool has reported a moment before: a transaction reports it again, with the scope
   * that it belongs to.
   */
  isReportedAgain(kind: StepKind, now: number, took: number, span: number | undefined): boolean {
    const known = this.#steps.findLast((step) => step.kind === kind && step.span === undefined);
    // The transaction began to wait no later than the pool says, and may have waited for longer.
    if (!known || known.at < now - this.start - took - SAME_MS) return false;
    if (span !== undefined) known.span = span;
    return true;
  }

  /** Of several the last one counts, but for one that may have been committed: the next does not undo it. */
  transactionFinished(outcome: Outcome): void {
    if (this.#outcome !== undefined && this.#outcome !== 'committed') this.#failedAttempts++;
    if (this.#outcome !== 'unknown') this.#outcome = outcome;
  }

  /** The statement, commit or service that an error came from has said so already. */
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
    if (this.over) return;
    this.#state = 'responded';
    this.#response = { milliseconds: now - this.start, status };
    this.step('responded', now, late > 0 ? { late } : {});
    this.#release();
  }

  aborted(now: number): void {
    if (this.over) return;
    this.#state = 'aborted';
    this.#response = { milliseconds: now - this.start };
    const newest = [...this.#awaited].at(-1);
    const doing = newest && `it waited for ${newest.host ?? 'the database'}, for ${ms(now - newest.started)} so far`;
    this.step('aborted', now, newest && doing !== undefined ? { doing, place: newest.place } : {});
    this.#release();
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
      failedAttempts: this.#failedAttempts,
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
      ...(isGoingOn && { elapsed: now - this.start }),
    };
  }

  #addUp(kind: StepKind, { key = '', sql = '', took = 0, error, span }: StepDetails): void {
    if (error !== undefined) this.#hasFailedSteps = true;
    if (kind === 'created') this.#sums.created(key);
    else if (kind === 'statement') this.#sums.statement(sql, took, span);
    else if (kind === 'rollback' && span !== undefined) this.#sums.rolledBack(span);
    else if (kind === 'commit' && span !== undefined) this.#sums.committed(span);
    else if (kind === 'connection' || kind === 'no connection') this.#sums.waited(took);
    else if (kind === 'call') this.#sums.called(took);
    else if (kind === 'failed') this.#failures++;
  }

  /** At the first step that has it: Express resets the mount path of a router when an error leaves it. */
  #findRoute(): void {
    this.#route ??= this.#arrival?.route();
  }

  #release(): void {
    this.#findRoute();
    this.#requestId = this.#arrival?.requestId?.();
    this.#arrival = undefined;
  }
}

const DEEPEST_CAUSE = 10;

/** The error and its causes. */
function chainOf(error: unknown): object[] {
  const chain: object[] = [];
  for (let one = error; typeof one === 'object' && one !== null && chain.length < DEEPEST_CAUSE; one = causeOf(one))
    chain.push(one);
  return chain;
}

function causeOf(error: object): unknown {
  try {
    return (error as { cause?: unknown }).cause;
  } catch {
    return undefined;
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
  #arrived = 0;
  #samplesPerSecond: number;

  constructor(options: RequestListOptions) {
    this.#options = options;
    this.#samplesPerSecond = options.samplesPerSecond;
  }

  /** How many without trouble are listed per second from now on. */
  sample(perSecond: number): void {
    this.#samplesPerSecond = perSecond;
  }

  /** Returns the record of the request, or undefined if too many are in progress. */
  arrive(arrival: Arrival, now: number): RequestRecord | undefined {
    this.#arrived++;
    const isSampled = this.#seen.add(now) <= this.#samplesPerSecond;
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

  get hasAny(): boolean {
    return this.#ids > 0;
  }

  /** Lists it as one that had trouble. */
  keep(record: RequestRecord): void {
    record.isKept = true;
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

  counts(now: number): Pick<Now, 'arrived' | 'recordedPerSecond' | 'requestsPerSecond' | 'samplesPerSecond'> {
    return {
      arrived: this.#arrived,
      samplesPerSecond: this.#samplesPerSecond,
      requestsPerSecond: this.#seen.perSecond(now),
      recordedPerSecond: this.#recorded.perSecond(now),
    };
  }

  #put(ring: Map<number, RequestRecord>, record: RequestRecord, most: number): void {
    ring.set(record.id, record);
    const oldest = ring.size > most ? ring.values().next().value : undefined;
    if (!oldest) return;
    ring.delete(oldest.id);
    this.#changed.delete(oldest);
  }
}
