import { ms } from './names.js';
import { LONG_WAIT_MS, MOST_ALIKE, type Sign, type TroubleKind } from './signs.js';
import type { Where } from './where.js';
import type { Outcome, RequestDetails, RequestSummary, Step, StepKind } from './wire.js';

/** The message of a host about a new request. */
export interface Arrival {
  readonly method: string;
  /** The route as declared; undefined until the host has matched it. */
  route(): string | undefined;
  /** True if the connection is closed: of several pipelined requests, only the first one gets an event. */
  lost(): boolean;
  /** The application's own id of the request, once it has one. */
  requestId?(): string | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A record of what happened: a step, whose line becomes text only when somebody reads it. */
export interface Recorded extends Mutable<Step> {
  place?: Where | undefined;
}
export type Facts = Omit<Partial<Recorded>, 'at' | 'kind'>;

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
  'callback failed',
  'rollback',
  'commit unknown',
  'finding',
  'responded',
  'aborted',
]);
const MOST_AWAITED = 100;
/** Code that still runs so long after the response of its request is work in the background, which a request happened to start. */
const LINGERS_MS = 10_000;

/** One request, from its arrival until its last scope is closed: a bounded number of records, and what they come to. */
export class RequestRecord {
  readonly start: number;
  /** That of the store, when it changed last. */
  version = 0;
  /** Its row in a list. */
  readonly summary: Mutable<RequestSummary> & { readonly troubles: TroubleKind[] };
  /** The ids of its troubles. */
  readonly #noted = new Set<string>();
  /** Undefined once the request is over: it holds objects of the host, and with them what the client has sent. */
  #arrival: Arrival | undefined;
  readonly #slowMs: number;
  readonly #records: Recorded[] = [];
  /** The statements and calls in progress. */
  readonly #awaited: Awaited[] = [];
  /** The number of statements and calls that it has sent until its response. */
  #sent = 0;
  #scopes = 0;
  /** The number of statements and calls of each line that began after its end. */
  #lingering: Map<string, number> | undefined;
  #isSuspicious = false;
  #dropped = 0;

  constructor(id: number, arrival: Arrival, now: number, slowMs: number) {
    const { method } = arrival;
    const none = { failedAttempts: 0, open: 0, statements: 0, statementMs: 0, troubles: [], trouble: false };
    this.summary = { id, method, route: NO_ROUTE, arrived: Date.now(), state: 'open', ...none };
    this.#arrival = arrival;
    this.#slowMs = slowMs;
    this.start = now;
    this.add({ kind: 'arrived', at: 0 });
  }

  get id(): number {
    return this.summary.id;
  }

  get over(): boolean {
    return this.summary.state !== 'open';
  }

  /** `GET /api/users` */
  get name(): string {
    this.#findRoute();
    return `${this.summary.method} ${this.summary.route}`;
  }

  /** Its connection was closed without an event on its response. */
  get lost(): boolean {
    return this.#arrival?.lost() ?? false;
  }

  /** It failed, was not committed, was aborted, took long, or has a trouble of another kind. */
  get trouble(): boolean {
    const { state, status = 0, milliseconds = 0, outcome = 'committed', troubles } = this.summary;
    if (troubles.length > 0 || state === 'aborted' || status >= 500 || milliseconds >= this.#slowMs) return true;
    // To roll back and respond with a status of 4xx is what the application has decided.
    return outcome !== 'committed' && !(outcome === 'rolled back' && status >= 400);
  }

  /** There may be something wrong, also where the response was as it should be. */
  get suspicious(): boolean {
    const { status = 0, outcome } = this.summary;
    return this.#isSuspicious || this.trouble || (status >= 400 && outcome === 'committed');
  }

  /** When its newest record was complete. */
  get idleSince(): number {
    const { at = 0, took = 0 } = this.#records.at(-1) ?? {};
    return this.start + at + took;
  }

  /** The line that asks for a connection, while it waits for one. */
  get asking(): Where | undefined {
    return this.#awaited.findLast(({ host }) => host === undefined)?.place;
  }

  lingers(line: string): number {
    this.#lingering ??= new Map();
    const count = (this.#lingering.get(line) ?? 0) + 1;
    if (this.#lingering.size < MOST_AWAITED) this.#lingering.set(line, count);
    return count;
  }

  has({ id }: Sign): boolean {
    return this.#noted.has(id);
  }

  note({ id, kind }: Sign): void {
    this.#noted.add(id);
    if (!this.summary.troubles.includes(kind)) this.summary.troubles.push(kind);
  }

  /** True if code in its asynchronous context still runs on its behalf. */
  includes(now: number): boolean {
    const { milliseconds } = this.summary;
    return milliseconds === undefined || now - this.start - milliseconds < LINGERS_MS;
  }

  begins(awaited: Awaited): void {
    if (this.#awaited.length < MOST_AWAITED) this.#awaited.push(awaited);
  }

  ends(awaited: Awaited): void {
    const index = this.#awaited.lastIndexOf(awaited);
    if (index !== -1) this.#awaited.splice(index, 1);
  }

  /** Returns whether it is kept. */
  add(record: Recorded): boolean {
    this.#findRoute();
    const { kind, took = 0, error, status = 0 } = record;
    if (error !== undefined || status >= 500 || kind === 'finding' || took >= LONG_WAIT_MS) this.#isSuspicious = true;
    // Background work after the response took none of its time.
    if ((kind === 'statement' || kind === 'call') && !this.over) this.#count(kind, took);
    const isSpared = SPARED.has(kind) || error !== undefined;
    const isKept = this.#records.length < (isSpared ? MOST_STEPS + MOST_SPARED : MOST_STEPS);
    if (isKept) this.#records.push(record);
    else this.#dropped++;
    return isKept;
  }

  /** Returns the record of the scope, if it is kept. */
  scopeOpened(box: string, now: number): Recorded | undefined {
    this.summary.open++;
    const record: Recorded = { kind: 'scope', at: now - this.start, box, span: this.#scopes++ };
    return this.add(record) ? record : undefined;
  }

  scopeClosed(record: Recorded | undefined, now: number): void {
    this.summary.open--;
    if (record) record.took = now - this.start - record.at;
  }

  /** The last one of several counts, but for one that may have been committed: the next does not undo it. */
  transactionFinished(outcome: Outcome): void {
    const { summary } = this;
    if (summary.outcome !== undefined && summary.outcome !== 'committed') summary.failedAttempts++;
    if (summary.outcome !== 'unknown') summary.outcome = outcome;
  }

  /** @param late - for how long this process was too busy meanwhile */
  responded(status: number, now: number, late: number): void {
    this.#complete('responded', now, late > 0 ? { late } : {});
    this.summary.status = status;
  }

  aborted(now: number): void {
    const newest = this.#awaited.at(-1);
    const what = newest && `it waited for ${newest.host ?? 'the database'}, for ${ms(now - newest.started)} so far`;
    this.#complete('aborted', now, newest && what ? { doing: what, place: newest.place } : {});
  }

  details(now: number): RequestDetails {
    const steps = this.#records.toSorted((one, other) => one.at - other.at).map(readable);
    const isSettled = this.over && this.summary.open === 0;
    return { ...this.summary, steps, dropped: this.#dropped, ...(!isSettled && { elapsed: now - this.start }) };
  }

  #count(kind: 'call' | 'statement', took: number): void {
    if (++this.#sent >= MOST_ALIKE) this.#isSuspicious = true;
    if (kind === 'call') return;
    this.summary.statements++;
    this.summary.statementMs += took;
  }

  #complete(kind: 'aborted' | 'responded', now: number, facts: Facts): void {
    const { summary } = this;
    const at = now - this.start;
    this.add({ kind, at, ...facts });
    summary.state = kind;
    summary.milliseconds = at;
    const requestId = this.#arrival?.requestId?.();
    if (requestId !== undefined) summary.requestId = requestId;
    this.#arrival = undefined;
  }

  /** At the first record that has it: Express resets the mount path of a router when an error leaves it. */
  #findRoute(): void {
    const { summary } = this;
    if (summary.route === NO_ROUTE) summary.route = this.#arrival?.route() ?? NO_ROUTE;
  }
}

function readable({ place, ...step }: Recorded): Step {
  const where = place?.line;
  return where === undefined ? step : { ...step, where };
}
