import type { Container, Key } from '@ambit/container';
import { instancesOf, openScopes } from '@ambit/container/tools';
import type { ObservedWork } from '@ambit/transaction/extension';
import { Lateness } from './loop.js';
import { boxOf, causesOf, errorName, label, lineageOf, ms, nameOf } from './names.js';
import { messageOf } from './messages.js';
import { type Arrival, type Awaited, type Facts, type Recorded, RequestRecord } from './requests.js';
import {
  callerOf,
  causeOf,
  groupedBy,
  leakOf,
  LONG_WAIT_MS,
  type Limits,
  MOST_ALIKE,
  type Sign,
  signOf,
  signsOf,
} from './signs.js';
import { IN_A_ROW, Responses, Row, rowOf, Runs } from './totals.js';
import { definitionsOf } from './v8.js';
import { type Definition, Troubles } from './troubles.js';
import { KnownLines, Where } from './where.js';
import { WORK } from './kinds.js';
import type { ExplainedRequest, Now, OpenScope, Outcome, Point, Share, State, StepKind } from './wire.js';

export interface StoreOptions extends Limits {
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** The request that began what runs here, maybe long ago. */
  readonly origin: () => RequestRecord | undefined;
  /** The line of a service. */
  readonly definition?: Definition;
  /** The scopes that are open. */
  readonly open?: () => readonly Container[];
  /** Scopes that are opened now are the inspector's own. */
  readonly isPaused?: () => boolean;
  /** Code that runs from here on in this asynchronous context does so on behalf of the work. */
  readonly enter?: (work: RequestRecord) => void;
}

/** The facts about an open scope. It keeps no reference to the container, so the inspector keeps nothing in memory. */
interface OpenedScope {
  readonly id: number;
  /** Its kind, by its tags and those around it. */
  readonly box: string;
  readonly opened: number;
  readonly request: RequestRecord | undefined;
  /** In its request. */
  readonly record: Recorded | undefined;
  readonly where: Where | undefined;
  /** The instances that it keeps and has not disposed, in order. */
  readonly keys: Set<Key>;
  inTransaction: boolean;
  /** The connection of its transaction. */
  held: Held | undefined;
  /** It is older than the limit, and its request is complete. */
  leaked: boolean;
}

/** A connection that is checked out of a pool. */
interface Held {
  readonly pool: object | undefined;
  readonly request: RequestRecord | undefined;
  readonly since: number;
  until: number | undefined;
  /** The line of the last statement of its transaction; else the line that took it. */
  last: Where | undefined;
  /** It is out for longer than the limit, and its request is complete. */
  leaked: boolean;
}

/** The requests that are kept: without trouble, and with trouble. */
const MOST_NEWEST = 300;
const MOST_TROUBLED = 1000;
/** Pairs of a route and a status, of which the newest request is kept for longer. */
const MOST_SAMPLES = 300;
/** Ten minutes of the process. */
const MOST_POINTS = 300;
/** Tags may be made from data; pools may be made again and again. */
const MOST_KINDS = 100;
/** The newest are known where more scopes than these are open. */
const MOST_OPEN = 5000;
const MOST_SHOWN = 5;
/** Those who waited for a connection look at them within the same milliseconds. */
const MOST_ENDED = 512;
/** Code that still runs so long after a request has completed does not belong to it. */
const AFTERWARDS_MS = 1000;
const MOST_LINGERING = 100;
const FAILURES_IN_A_ROW = 3;
/** The step with which a transaction completes. */
const FINAL_STEP: Record<Exclude<Outcome, 'refused'>, StepKind> = {
  committed: 'commit',
  'rolled back': 'rollback',
  unknown: 'commit unknown',
};

/** Keeps a bounded part of what happens: requests, each with its records; totals by name; and troubles by cause. */
export class Store {
  readonly now: StoreOptions['now'];
  readonly origin: StoreOptions['origin'];
  readonly lateness = new Lateness();
  /** The numbers of rows that statements have given, and of requests. */
  rows = 0;
  arrived = 0;
  /** The oldest first. */
  readonly #points: Point[] = [];
  readonly #routes = new Map<string, Responses>();
  /** The number of pairs of a route and a status. */
  #samples = 0;
  readonly #runs = new Map<string, Runs>();
  /** The record of work in progress; it is its own where the work is no part of other work. */
  readonly #works = new WeakMap<object, { record: RequestRecord; isOwn: boolean }>();
  readonly statements = new Map<string, Row>();
  readonly #options: StoreOptions;
  /** The newest requests without trouble, in order of arrival, and those with trouble, in the order of that. */
  readonly #newest = new Map<number, RequestRecord>();
  readonly #troubled = new Map<number, RequestRecord>();
  readonly #byRaw = new WeakMap<object, RequestRecord>();
  /** The statements and calls in progress. */
  readonly #awaited = new WeakMap<object, Awaited>();
  /** Higher after each change. */
  #version = 0;
  /** The version with the newest trouble. */
  #noticedAt = 0;
  readonly #troubles = new Troubles();
  /** The errors that a record names, and the request whose handler threw one: an error may hold anything, so none is kept. */
  readonly #named = new WeakSet();
  readonly #thrown = new WeakMap<object, RequestRecord>();
  readonly #scopes = new WeakMap<object, OpenedScope>();
  /** The oldest first. */
  readonly #openScopes = new Map<number, OpenedScope>();
  #ids = 0;
  /** The first scope of a request is, most often, its host's. */
  readonly #lines = new KnownLines();
  readonly #transactions = { committed: 0, refused: 0, 'rolled back': 0, unknown: 0 };
  /** The oldest first, by connection; of a foreign pool by the scope of the transaction. */
  readonly #holding = new Map<object, Held>();
  readonly #asked = new WeakMap<object, Held>();
  /** Each has a name, but the first. */
  readonly #pools = new Map<object, Pick<Facts, 'pool'>>();
  readonly #ended: Held[] = [];
  /** By line and request the number of statements and calls that it has sent after its end. */
  readonly #lingering = new Map<string, Map<number, number>>();

  /** Starts with the application scope and the scopes that are open already. */
  constructor(application: Container, open: readonly Container[], options: StoreOptions) {
    this.#options = options;
    this.now = options.now;
    this.origin = options.origin;
    for (const scope of [application, ...open]) this.#open(scope, boxOf(lineageOf(scope)));
  }

  /** The request on whose behalf this code runs. */
  current(): RequestRecord | undefined {
    const origin = this.origin();
    return origin?.includes(this.now()) ? origin : undefined;
  }

  /** True if the scope is one of this application. */
  knows(scope: object): boolean {
    return this.#scopes.has(scope);
  }

  // ---- What happens.

  /**
   * Adds a record, complete by now, to the request that the scope belongs to; without a scope, or one that belongs to no request, to the
   * request on whose behalf the code runs, or to `of`.
   *
   * @param error - what failed, which is named and accounted for
   */
  record(kind: StepKind, facts: Facts, { scope, of, error }: Owner = {}): RequestRecord | undefined {
    const opened = scope && this.#scopes.get(scope);
    const request = of ?? opened?.request ?? this.current();
    if (!request) return undefined;
    const { took = 0 } = facts;
    const now = this.now();
    const late = took >= LONG_WAIT_MS ? this.lateness.before(now - took, now) : 0;
    const failure = error === undefined ? undefined : this.#nameOf(kind, error, facts);
    // A message with a duration is published when that is over.
    request.add(kind, Math.max(0, now - request.start - took), facts, opened?.record?.span, failure, late);
    request.version = ++this.#version;
    // A response that nobody reads ends after the work, and what nobody awaits may fail after the response.
    if ((kind === 'call' || error !== undefined) && request.over) this.#judge(request);
    return request;
  }

  #nameOf(kind: StepKind, error: unknown, { place }: Facts): string {
    const message = messageOf(error, place?.source);
    // The handler that passes on the failure of a call has a card of its own.
    if (isObject(error) && kind !== 'call') this.#named.add(error);
    return message === undefined ? errorName(error) : `${errorName(error)}: ${message}`;
  }

  arrive(arrival: Arrival): RequestRecord {
    const record = new RequestRecord(++this.arrived, arrival, this.now(), this.#options.slowMs);
    if (arrival.raw) this.#byRaw.set(arrival.raw, record);
    keepNewest(this.#newest, record, MOST_NEWEST);
    this.#touch(record);
    return record;
  }

  /** @ambit/replay has kept a request, in a file if it writes to a folder. */
  recordedAs(raw: object, file: string | undefined): void {
    const record = this.#byRaw.get(raw);
    if (!record || file === undefined) return;
    record.summary.recording = file;
    this.#touch(record);
  }

  /** @param status - of the response; undefined where the client disconnected before it was complete */
  complete(record: RequestRecord, status?: number): void {
    if (record.over) return;
    const now = this.now();
    if (status === undefined) record.aborted(now);
    else record.responded(status, now, this.lateness.within(record.start, now));
    if (record.isWork) this.#noticeFailures(record);
    else if (status !== undefined) this.#noticeTurn(record, status);
    this.#touch(record);
    this.#judge(record);
  }

  /** A statement, or a call to the host, begins. @param key - the object that announces it, and later its end */
  begins(key: object, place: Where, host?: string): void {
    this.#goesOn(place);
    const request = this.current();
    const awaited = { request, place, host, started: this.now() };
    this.#awaited.set(key, awaited);
    request?.begins(awaited);
  }

  ends(key: object): Awaited | undefined {
    const awaited = this.#awaited.get(key);
    this.#awaited.delete(key);
    awaited?.request?.ends(awaited);
    return awaited;
  }

  /** Counts the statements and calls of requests that have ended, where nobody stops them. */
  #goesOn(place: Where): void {
    const origin = this.origin();
    const { milliseconds = Infinity, state } = origin?.summary ?? {};
    // A loop over rows goes on for a while, too, but ends.
    if (!origin || origin.isWork || this.now() - origin.start - milliseconds < Math.max(AFTERWARDS_MS, milliseconds))
      return;
    const { line } = place;
    const counts = line === undefined ? undefined : rowOf(this.#lingering, line, Map<number, number>);
    if (!counts) return;
    const count = (counts.get(origin.id) ?? 0) + 1;
    // What goes on is the newest again and again: what came to its end goes first.
    counts.delete(origin.id);
    counts.set(origin.id, count);
    const [oldest = 0] = counts.keys();
    if (counts.size > MOST_LINGERING) counts.delete(oldest);
    if (count < MOST_ALIKE) return;
    const all = [...counts.values()].filter((one) => one >= MOST_ALIKE).length;
    // Work of a single request may be meant to go on.
    if (state !== 'aborted' && all < 2) return;
    const requests = all < 2 ? 'a request' : `${all} requests`;
    const cause = `This goes on after ${requests} completed: a timer or a loop that nobody stops`;
    const sign = signOf({ kind: 'never stopped', cause, where: line });
    if (origin.has(sign)) return this.noticed(sign, origin);
    this.#note(origin, sign);
  }

  /** A handler of the current request has failed. The statement, COMMIT or service that the error came from may have said so already. */
  failed(error: unknown, request = this.current()): void {
    if (!request) return;
    if (isObject(error)) {
      if (this.#thrown.get(error) === request) return;
      this.#thrown.set(error, request);
    }
    try {
      const known = causesOf(error).some((one) => this.#named.has(one));
      this.record('threw', { place: Where.of(error), ...(known && { known }) }, { of: request, error });
    } catch {
      // An object that an application throws may throw when it is read.
    }
    // It went on after its response.
    if (request.over) this.#judge(request);
  }

  /** Adds a trouble outside of requests. */
  noticed(sign: Sign, record?: RequestRecord): void {
    this.#troubles.add(sign, Date.now(), record);
    this.#noticedAt = ++this.#version;
  }

  measured(point: Omit<Point, 'version'>): void {
    this.#points.push({ ...point, version: ++this.#version });
    if (this.#points.length > MOST_POINTS) this.#points.shift();
  }

  /** Adds the problems of the graph once: they are no occurrences. */
  graphIs(signs: readonly Sign[]): void {
    for (const sign of signs) if (!this.#troubles.has(sign)) this.noticed(sign);
  }

  opened(scope: Container): void {
    const above = scope.parent && this.#scopes.get(scope.parent);
    // A scope without a known parent belongs to another application in this process.
    if (!above || this.#options.isPaused?.() === true) return;
    const box = `${above.box} > ${nameOf(scope.tags)}`;
    const around = this.#around(above);
    const isOfTransaction = scope.hasTag('transaction');
    // A timer may run in the context that the run before has entered.
    const isNext = around?.enteredMs !== undefined && around !== above.request && !isOfTransaction;
    // oxlint-disable-next-line typescript/unbound-method -- names the call that the stack begins below
    const { createScope } = scope;
    if (!around || isNext) {
      const place = new Where(createScope);
      const work = this.#begin(nameOf(scope.tags), place, this.#options.limitMs);
      this.#options.enter?.(work);
      return this.#open(scope, box, work, place);
    }
    // Transactions open and dispose their scopes: no line of the application is to blame.
    if (isOfTransaction) return this.#open(scope, box, around);
    const isFirst = around.scopes === 0;
    const place = isFirst ? this.#lines.of(around.name, box, createScope) : new Where(createScope);
    this.#open(scope, box, around, place);
  }

  closed(scope: object): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    const { id, request } = entry;
    this.#scopes.delete(scope);
    this.#openScopes.delete(id);
    this.releases(scope);
    if (!request) return;
    request.scopeClosed(entry.record, this.now());
    this.#touch(request);
    // Its first scope is all that delimits it.
    if (request.enteredMs !== undefined && entry.record?.span === 0) return this.#end(request);
    // A scope that is disposed late adds to a request that has its response.
    if (request.over && request.summary.open === 0) this.#judge(request);
  }

  /** Work begins. Returns what it belongs to: unless it is part of a request or of other work, it is one of its own. */
  works(work: ObservedWork): RequestRecord | undefined {
    const { scope, name, by } = work;
    const opened = scope && this.#scopes.get(scope);
    if (scope && !opened) return this.origin();
    const around = name === undefined ? this.#around(opened) : undefined;
    if (around && !around.isWork) return this.origin();
    const place = name === undefined ? new Where() : undefined;
    const record = around ?? this.#begin(name ?? 'transaction', place, undefined, definitionsOf([by])[0]);
    this.#works.set(work, { record, isOwn: !around });
    return record;
  }

  settled(message: { readonly work: object; readonly error?: unknown }): void {
    const { record, isOwn = false } = this.#works.get(message.work) ?? {};
    if (!record) return;
    if ('error' in message) this.failed(message.error, record);
    if (isOwn) this.#end(record);
  }

  /** The work of a scope has failed. */
  workFailed(scope: object, error: unknown): void {
    const request = this.#scopes.get(scope)?.request;
    if (request?.isWork) this.failed(error, request);
  }

  /** The request or the work of a scope, unless that began long ago: it may be as long as the application. */
  #around(scope: OpenedScope | undefined): RequestRecord | undefined {
    const own = scope?.request;
    return own && (!own.isWork || own.includes(this.now())) ? own : this.current();
  }

  #begin(name: string, place?: Where, enteredMs?: number, line = place?.line): RequestRecord {
    const route = line === undefined ? name : `${name} ${line}`;
    const record = this.arrive({ method: WORK, route: () => route, place, ...(enteredMs && { enteredMs }) });
    const runs = rowOf(this.#runs, record.name, Runs);
    // Deliveries, which have a name and no place, come as they are written, and several at once.
    const interval = place && runs?.begins(record.start, place);
    if (interval === undefined) return record;
    const cause = `${record.name} begins each ${ms(interval)} and takes longer: ${runs?.running} runs of it go on at once`;
    this.#note(record, signOf({ kind: 'runs overlap', cause, where: line, about: record.name }));
    return record;
  }

  #end(work: RequestRecord): void {
    this.complete(work, work.hasThrown ? 500 : 200);
  }

  /** Nobody asked for the statement of this line: where it comes at an interval, a timer sends it. */
  #recurs(place: Where): void {
    const runs = rowOf(this.#runs, `a statement at ${place.line}`, Runs);
    runs?.begins(this.now(), place);
    runs?.ends();
  }

  #noticeStopped(now: number): void {
    for (const [name, runs] of this.#runs) {
      const { interval, since = 0 } = runs.stopped(now) ?? {};
      if (interval === undefined) continue;
      const cause = `What began each ${ms(interval)}, ${name}, has not begun since ${this.#clock(since)}`;
      const where = runs.place?.line;
      this.noticed(signOf({ kind: 'stopped', cause, where, about: name, fails: true, into: runs.troubles }));
    }
  }

  /** Nobody handles a rejection. It has a card already where a step of a request has failed with it. */
  unhandled(error: unknown): void {
    try {
      if (causesOf(error).some((one) => this.#named.has(one))) return;
      const place = Where.of(error);
      const name = this.#nameOf('threw', error, { place });
      const facts = { cause: `Nobody handled a rejection: ${name}`, where: place?.line, error: name, fails: true };
      const sign = signOf({ kind: 'unhandled', ...facts });
      const request = this.current();
      this.noticed(sign, request);
      // A timer or a loop whose code it has left may begin no more. That of a request has left nothing else.
      if (request?.isWork === false || !(error instanceof Error)) return;
      for (const runs of this.#runs.values())
        if (!runs.troubles.includes(sign.id) && runs.place?.isPassedBy(error))
          runs.troubles = [...runs.troubles, sign.id];
    } catch {
      // An object that an application throws may throw when it is read.
    }
  }

  #clock(time: number): string {
    return new Date(Date.now() - this.now() + time).toLocaleTimeString('en-GB');
  }

  #noticeFailures(work: RequestRecord): void {
    const { name, hasThrown, noted } = work;
    const failed = this.#runs.get(name)?.ends(hasThrown ? noted : undefined) ?? 0;
    if (failed < FAILURES_IN_A_ROW) return;
    const { steps } = work.details(this.now());
    const { error, where = steps[0]?.where } = steps.findLast(({ kind }) => kind === 'threw') ?? {};
    const cause = `${name} failed in each of its last ${failed} runs, now with ${error}`;
    this.#note(work, signOf({ kind: 'fails each time', cause, where, about: name, fails: true }));
  }

  /** @param isKept - by its scope: of a transient one nobody knows for how long it is alive */
  created(scope: object, key: Key, took: number, isKept: boolean): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    if (isKept) entry.keys.add(key);
    this.record('created', { key, took }, { scope });
  }

  /** A connection was checked out. @param by - what its transaction, if it is for one, names as well */
  takes(connection: object, { pool, by, place }: { pool?: object; by?: object; place?: Where | undefined }): Held {
    const request = this.current();
    const held = { pool, request, since: this.now(), until: undefined, last: place, leaked: false };
    this.#holding.set(connection, held);
    if (by) this.#asked.set(by, held);
    const number = this.#pools.size + 1;
    const name = number === 1 ? {} : { pool: `pool ${number}, first used by ${request?.name ?? OUTSIDE}` };
    if (pool && !this.#pools.has(pool) && number <= MOST_KINDS) this.#pools.set(pool, name);
    return held;
  }

  releases(connection: object): void {
    const held = this.#holding.get(connection);
    if (!held) return;
    held.until = this.now();
    this.#holding.delete(connection);
    if (this.#ended.push(held) > MOST_ENDED) this.#ended.shift();
  }

  /** A transaction has a connection. */
  acquired(scope: object, by: object): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    entry.held = this.#asked.get(by) ?? this.takes(scope, {});
    entry.held.last = entry.where ?? entry.held.last;
  }

  begun(scope: object, took: number): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    entry.inTransaction = true;
    this.record('begin', { took }, { scope });
  }

  /** @param scope - of its transaction; undefined of a statement outside of one */
  statement(sql: string, { took = 0, rows = 0, place }: Facts, { scope, error }: Owner): Row | undefined {
    this.rows += rows;
    const held = scope && this.#scopes.get(scope)?.held;
    if (held) held.last = place ?? held.last;
    const outside = scope === undefined;
    const facts = { sql, took, place, ...(rows > 0 && { rows }), ...(outside && { outside }) };
    const request = this.record('statement', facts, { scope, error });
    if (!request && place?.line !== undefined) this.#recurs(place);
    const row = rowOf(this.statements, sql, Row);
    if (!row) return undefined;
    row.took(took, request?.name);
    row.place ??= place;
    row.failed += Number(error !== undefined);
    return row;
  }

  refused(parent: object): void {
    this.#cameOut('refused', this.#scopes.get(parent)?.request);
  }

  finished(scope: object, outcome: Exclude<Outcome, 'refused'>, took: number, error: unknown): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    entry.inTransaction = false;
    this.releases(scope);
    this.#cameOut(outcome, entry.request);
    this.record(FINAL_STEP[outcome], { took }, { scope, error });
  }

  #cameOut(outcome: Outcome, request: RequestRecord | undefined): void {
    this.#transactions[outcome]++;
    request?.transactionFinished(outcome);
    if (request) this.#touch(request);
  }

  /** The holders of a pool's connections while another request waited: all of them, and the one that had its connection for longest. */
  holders(from: number, pool?: object): Pick<Facts, 'doing' | 'heldAt' | 'heldBy' | 'pool' | 'shares'> {
    const to = this.now();
    const all = [...this.#holding.values(), ...this.#ended];
    const held = all.filter(({ pool: of, until = Infinity }) => of === pool && until > from);
    const [most] = held.toSorted((one, other) => shareOf(other, from, to) - shareOf(one, from, to));
    if (!most) return {};
    const { request, since, until = to } = most;
    const name = request?.name ?? OUTSIDE;
    const line = lineOf(most);
    const who = `${name}${request ? ` (request ${request.id}${request.over ? ', which has its response' : ''})` : ''}`;
    const where = line === undefined ? '' : `, since ${line}`;
    // None of many short transactions is to blame.
    const isBusy = shareOf(most, from, to) < (to - from) / 2;
    const few = isBusy ? 'nobody kept one for half of that time; ' : '';
    const doing = `meanwhile ${few}${who} had a connection for longest, ${ms(until - since)}${where}`;
    const shares = sharesOf(held, from, to);
    const known = { doing, shares, ...(pool && this.#pools.get(pool)) };
    return isBusy ? known : { ...known, heldBy: name, heldAt: line };
  }

  // ---- What is known.

  state(pool?: Now['pool'], since = 0): Omit<State, 'always' | 'boot'> {
    const now = this.#now(pool);
    const process = this.#points.filter(({ version }) => version > since);
    const kept = new Set([...this.#newest.values(), ...this.#troubled.values(), ...this.#sampled]);
    const changed = [...kept].filter(({ version }) => version > since);
    const requests = changed.toSorted((one, other) => one.id - other.id).map(({ summary }) => ({ ...summary }));
    const troubles =
      since === 0 || this.#noticedAt > since ? { troubles: this.#troubles.all(this.#options.definition) } : {};
    return { version: this.#version, now, process, requests, ...troubles };
  }

  request(id: number): ExplainedRequest | undefined {
    const details = this.#get(id)?.details(this.now());
    if (!details) return undefined;
    const causes = signsOf(details, this.#options).map((sign) => {
      const step = sign.step === undefined ? -1 : details.steps.indexOf(sign.step);
      return { ...causeOf(sign, this.#options.definition), ...(step !== -1 && { step }) };
    });
    return { ...details, causes };
  }

  // ---- How it is kept.

  get #sampled(): RequestRecord[] {
    return [...this.#routes.values()].flatMap(({ newest }) => [...newest.values()]);
  }

  #get(id: number): RequestRecord | undefined {
    return this.#troubled.get(id) ?? this.#newest.get(id) ?? this.#sampled.find((one) => one.id === id);
  }

  /** Marks a request as changed, if it is kept. It is from now on if it has trouble. */
  #touch(record: RequestRecord): void {
    record.summary.trouble = record.trouble;
    if (record.trouble && !this.#troubled.has(record.id)) {
      this.#newest.delete(record.id);
      keepNewest(this.#troubled, record, MOST_TROUBLED);
    }
    record.version = ++this.#version;
  }

  #noticeTurn(record: RequestRecord, status: number): void {
    const { name } = record;
    const route = rowOf(this.#routes, name, Responses);
    if (route?.newest.has(status) === true || this.#samples++ < MOST_SAMPLES) route?.newest.set(status, record);
    const before = route?.responded(status);
    if (route?.turned && status < 400) {
      this.#troubles.forget(route.turned);
      route.turned = undefined;
      this.#noticedAt = ++this.#version;
    }
    if (!route || before === undefined) return;
    const cause = `${name} responded ${before} before, and ${status} to each of the last ${IN_A_ROW} requests`;
    route.turned = signOf({ kind: 'turned', cause, about: `${name} ${status}` });
    this.noticed(route.turned);
  }

  /** A request without trouble costs a comparison. */
  #judge(record: RequestRecord): void {
    if (!record.suspicious) return;
    for (const sign of signsOf(record.details(this.now()), this.#options)) {
      // All failures of work that fails each time are on one card.
      const isOfWork = record.isWork && sign.kind.startsWith('failed');
      const into = isOfWork ? [...(sign.into ?? []), `fails each time ${record.name}`] : sign.into;
      // Once for each request and cause.
      if (!record.has(sign)) this.#note(record, { ...sign, into });
    }
  }

  #note(record: RequestRecord, sign: Sign): void {
    record.note(sign);
    this.noticed({ ...sign, caller: callerOf(sign), step: undefined }, record);
    this.#touch(record);
  }

  #open(scope: Container, box: string, request?: RequestRecord, where?: Where): void {
    const opened = this.now();
    const record = request?.scopeOpened(box, opened);
    const facts = { id: ++this.#ids, box, opened, request, record, where };
    const entry: OpenedScope = { ...facts, keys: new Set(), inTransaction: false, held: undefined, leaked: false };
    this.#scopes.set(scope, entry);
    keepNewest(this.#openScopes, entry, MOST_OPEN);
    if (request) request.version = ++this.#version;
  }

  #now(pool: Now['pool']): Now {
    const now = this.now();
    const open = [...this.#openScopes.values()];
    const old = now - this.#options.limitMs;
    // The application scope is open all the time.
    const aged = open.filter(({ id, opened }) => id > 1 && opened <= old);
    for (const same of groupedBy(aged, ({ request }) => request?.name ?? ''))
      for (const entry of same) {
        const { leaked, request } = entry;
        // While its request is in progress, the scope is only slow. When work is over, nothing but its scope says.
        const isLeak = request && (request.over || (request.isWork && same.length >= MANY_OPEN));
        if (isLeak && !leaked) this.#leak(entry, request);
      }
    for (const held of this.#holding.values()) {
      if (held.since > old) break;
      if (!held.leaked && held.request?.over) this.#leakOfConnection(held, held.request);
    }
    this.#noticeStopped(now);
    const kinds = groupedBy(open, ({ box }) => box).map((same) => {
      const leaks = same.filter(({ leaked }) => leaked).length;
      return { box: same[0].box, open: same.length, leaks };
    });
    return {
      arrived: this.arrived,
      kinds: kinds.slice(0, MOST_KINDS),
      scopes: groupedBy(aged, ({ box, where }) => `${box} ${where?.line}`)
        .slice(0, MOST_SHOWN)
        .map((same): OpenScope => {
          const { id, box, opened, where } = same[0];
          return { id, count: same.length, box, age: now - opened, where: where?.line };
        }),
      transactions: { open: open.filter(({ inTransaction }) => inTransaction).length, ...this.#transactions },
      pool,
    };
  }

  /** Each scope is an occurrence: a leak that grows has to be seen growing. */
  #leak(entry: OpenedScope, request: RequestRecord): void {
    const { record, where, box } = entry;
    entry.leaked = true;
    if (record) record.facts.place = where;
    const key = this.#hanging(entry);
    if (key !== undefined) {
      const age = ms(this.now() - entry.opened);
      const cause = `${key}.dispose() has not settled: its scope (${box}) is open for ${age}, with all that it holds`;
      const fix = 'Give what it waits for a time limit.';
      return this.#note(request, signOf({ kind: 'failed disposal', cause, about: key, service: key, fix }));
    }
    const after = request.over ? undefined : `beside ${MANY_OPEN - 1} or more of the same work`;
    this.#note(request, signOf({ kind: 'leak', ...leakOf({ box, where: where?.line }, this.#options, after) }));
  }

  /** The newest instance that has to be disposed and is not, where the scope is being disposed. */
  #hanging(entry: OpenedScope): string | undefined {
    const scope = this.#options.open?.().find((one) => this.#scopes.get(one) === entry);
    if (!scope?.disposed || openScopes(scope).length > 0) return undefined;
    const left = new Set(instancesOf(scope).flatMap(({ key, instance }) => (hasDisposer(instance) ? [key] : [])));
    const key = [...entry.keys].findLast((one) => left.has(one));
    return key && label(key);
  }

  disposed(scope: object, key: Key, error: unknown): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    entry.keys.delete(key);
    this.record('disposed', { key, place: Where.of(error) }, { scope, error });
  }

  #leakOfConnection(held: Held, request: RequestRecord): void {
    held.leaked = true;
    const where = held.last?.line;
    const same = [...this.#holding.values()].filter(({ leaked, last }) => leaked && last?.line === where);
    const first = this.#clock(same[0]?.since ?? 0);
    const many = same.length === 1 ? 'A connection is' : `${same.length} connections are`;
    const cause = `${many} out since ${first}, taken by ${request.name}, which has its response: nobody has released it`;
    const fix = 'Call release() in `finally`, or let runInTransaction() or the pool take the connection.';
    this.#note(request, signOf({ kind: 'leak', cause, where, about: 'connection', fix }));
  }
}

/** So many scopes of the same work are not in use at the same time. */
const MANY_OPEN = 20;

const OUTSIDE = 'work outside of requests';

const shareOf = ({ since, until = Infinity }: Held, from: number, to: number): number =>
  Math.max(0, Math.min(until, to) - Math.max(since, from));

/** A statement that is in progress has it for now, maybe because it waits for a lock. */
const lineOf = ({ request, until, last }: Held): string | undefined =>
  (until === undefined ? (request?.asking ?? last) : last)?.line;

/** By route and line, the longest first. */
function sharesOf(held: readonly Held[], from: number, to: number): Share[] {
  const groups = groupedBy(held, (one) => `${one.request?.name} ${lineOf(one)}`);
  const shares = groups.map((same): Share => {
    const took = same.reduce((sum, one) => sum + shareOf(one, from, to), 0);
    return { name: same[0].request?.name ?? OUTSIDE, where: lineOf(same[0]), took };
  });
  return shares.toSorted((one, other) => other.took - one.took).slice(0, MOST_SHOWN);
}

interface Owner {
  readonly scope?: object | undefined;
  readonly of?: RequestRecord | undefined;
  readonly error?: unknown;
}

/** Adds a record; where there are more than `most`, removes the oldest. */
function keepNewest<T extends { readonly id: number }>(kept: Map<number, T>, record: T, most: number): void {
  kept.set(record.id, record);
  // An iterator is made only where something is too much.
  if (kept.size > most) kept.delete(kept.keys().next().value ?? record.id);
}

const DISPOSERS = ['dispose', Symbol.dispose, Symbol.asyncDispose] as const;
const hasDisposer = (one: unknown): boolean =>
  isObject(one) && DISPOSERS.some((name) => typeof (one as Partial<Record<typeof name, unknown>>)[name] === 'function');

const isObject = (one: unknown): one is object => typeof one === 'object' && one !== null;
