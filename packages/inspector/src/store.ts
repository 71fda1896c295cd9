import type { Container, Key } from '@ambit/container';
import { Lateness } from './loop.js';
import { boxBelow, boxOf, errorName, label, lineageOf, ms } from './names.js';
import { type Arrival, type Facts, type Recorded, RequestRecord } from './requests.js';
import { causeOf, leakOf, LONG_WAIT_MS, type Limits, MOST_ALIKE, type Sign, signOf, signsOf } from './signs.js';
import { type Row, Totals } from './totals.js';
import { type Definition, Troubles } from './troubles.js';
import { Where } from './where.js';
import type { ExplainedRequest, Now, OpenScope, Outcome, Share, State, StepKind } from './wire.js';

export interface StoreOptions extends Limits {
  /** The numbers of requests that are kept: without trouble, and with trouble. */
  readonly keep: number;
  readonly keepTrouble: number;
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** The request on whose behalf this code runs. */
  readonly current: () => RequestRecord | undefined;
  /** The request that began what runs here, maybe long ago. */
  readonly origin?: () => RequestRecord | undefined;
  /** The line of a service. */
  readonly definition?: Definition;
  /** Scopes that are opened now are the inspector's own. */
  readonly isPaused?: () => boolean;
}

/** The facts about an open scope. It keeps no reference to the container, so the inspector keeps nothing in memory. */
interface OpenedScope {
  readonly id: number;
  readonly box: string;
  readonly opened: number;
  readonly request: RequestRecord | undefined;
  /** In its request. */
  readonly record: Recorded | undefined;
  readonly where: Where | undefined;
  readonly services: Row[];
  inTransaction: boolean;
  /** It is older than the limit, and its request is complete. */
  leaked: boolean;
}

/** A transaction of this process, or a statement outside of one, which has a connection. */
interface Held {
  readonly request: RequestRecord | undefined;
  readonly since: number;
  until: number | undefined;
  /** The line of its last statement; before the first, the line that opened its scope. */
  last: Where | undefined;
}

/** Tags may be made from data. */
const MOST_KINDS = 100;
/** The newest are known where more scopes than these are open. */
const MOST_OPEN = 5000;
const MOST_SHOWN = 5;
/** Those who waited for a connection look at them within the same milliseconds. */
const MOST_ENDED = 512;
/** Holders of so long ago are shown, at rest. */
const RECENT_MS = 5000;
/** Code that still runs so long after a request has completed does not belong to it. */
const AFTERWARDS_MS = 1000;
const MOST_LINGERING = 100;
const MOST_ROWS = 1000;
const MOST_SERVICES = 2000;
const DEEPEST_CAUSE = 10;
/** The step with which a transaction completes. */
const FINAL_STEP: Record<Exclude<Outcome, 'refused'>, StepKind> = {
  committed: 'commit',
  'rolled back': 'rollback',
  unknown: 'commit unknown',
};

/** Keeps a bounded part of what happens: requests, each with its records; totals by name; and troubles by cause. */
export class Store {
  readonly lateness = new Lateness();
  readonly routes = new Totals(MOST_ROWS);
  readonly statements = new Totals(MOST_ROWS);
  readonly services = new Totals(MOST_SERVICES);
  readonly #options: StoreOptions;
  /** The newest requests without trouble, in order of arrival, and those with trouble, in the order of that. */
  readonly #newest = new Map<number, RequestRecord>();
  readonly #troubled = new Map<number, RequestRecord>();
  /** Higher after each change. */
  #version = 0;
  /** The version with the newest trouble. */
  #noticedAt = 0;
  #arrived = 0;
  readonly #troubles: Troubles;
  /** The errors that a record names, and the request whose handler threw one: an error may hold anything, so none is kept. */
  readonly #named = new WeakSet();
  readonly #thrown = new WeakMap<object, RequestRecord>();
  readonly #scopes = new WeakMap<object, OpenedScope>();
  /** The oldest first. */
  readonly #openScopes = new Map<number, OpenedScope>();
  #ids = 0;
  readonly #transactions = { committed: 0, refused: 0, 'rolled back': 0, unknown: 0 };
  readonly #holding = new Map<object, Held>();
  readonly #ended: Held[] = [];
  /** The requests that have ended, while statements and calls of theirs go on, by line. */
  readonly #lingering = new Map<string, Set<number>>();
  /** The newest record, and the longest time without one that ended lately: that of the request before it. */
  #newestRecord: { readonly request: RequestRecord; readonly at: number } | undefined;
  #longestGap: { readonly request: RequestRecord; readonly at: number; readonly took: number } | undefined;

  /** Starts with the application scope and the scopes that are open already. */
  constructor(application: Container, open: readonly Container[], options: StoreOptions) {
    this.#options = options;
    this.#troubles = new Troubles(options.definition);
    for (const scope of [application, ...open]) this.#open(scope, boxOf(lineageOf(scope)), true, undefined);
  }

  now(): number {
    return this.#options.now();
  }

  current(): RequestRecord | undefined {
    return this.#options.current();
  }

  /** True if the scope is one of this application. */
  knows(scope: object): boolean {
    return this.#scopes.has(scope);
  }

  origin(): RequestRecord | undefined {
    return (this.#options.origin ?? this.#options.current)();
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
    // A message with a duration is published when that is over.
    const record: Recorded = { kind, at: Math.max(0, now - request.start - took), ...facts };
    const span = opened?.request && opened.record?.span;
    if (span !== undefined) record.span = span;
    const late = took >= LONG_WAIT_MS ? this.lateness.within(now - took, now) : 0;
    if (late > 0) record.late = late;
    if (error !== undefined) {
      record.error = errorName(error);
      if (isObject(error)) this.#named.add(error);
    }
    request.add(record);
    this.#touch(request);
    return request;
  }

  arrive(arrival: Arrival): RequestRecord {
    const record = new RequestRecord(++this.#arrived, arrival, this.now(), this.#options.slowMs);
    keepNewest(this.#newest, record, this.#options.keep);
    this.#touch(record);
    return record;
  }

  /** @param status - of the response; undefined where the client disconnected before it was complete */
  complete(record: RequestRecord, status?: number): void {
    if (record.over) return;
    const now = this.now();
    if (status === undefined) record.aborted(now);
    else record.responded(status, now, this.lateness.within(record.start, now));
    this.#addToRoute(record);
    this.#touch(record);
    this.#judge(record);
  }

  /** A statement or a call begins: counts those of requests that have ended, where nobody stops them. */
  goesOn(place: Where): void {
    const origin = this.origin();
    const { milliseconds = Infinity, state } = origin?.summary ?? {};
    if (!origin || this.now() - origin.start - milliseconds < AFTERWARDS_MS) return;
    const { line } = place;
    if (line === undefined || origin.lingers(line) < MOST_ALIKE) return;
    const ids = this.#lingering.get(line) ?? new Set();
    if (this.#lingering.size < MOST_LINGERING) this.#lingering.set(line, ids);
    if (ids.size < MOST_LINGERING) ids.add(origin.id);
    // Work of a single request may be meant to go on.
    if (state !== 'aborted' && ids.size < 2) return;
    const requests = ids.size === 1 ? 'a request' : `${ids.size} requests`;
    const cause = `This goes on after ${requests} completed: a timer or a loop that nobody stops`;
    const sign = signOf({ kind: 'never stopped', cause, where: line });
    if (origin.has(sign)) return this.noticed(sign, origin);
    this.#note(origin, sign);
  }

  /** The request whose code ran while nothing else could, until now: it made the last record before that. */
  busy(late: number): RequestRecord | undefined {
    const now = this.now();
    const gaps = [this.#longestGap, this.#newestRecord && { ...this.#newestRecord, took: now - this.#newestRecord.at }];
    const isIt = (took: number): boolean => took > late / 2 && took < late + AFTERWARDS_MS / 4;
    return gaps.find((gap) => gap && now - gap.at < late + AFTERWARDS_MS / 4 && isIt(gap.took))?.request;
  }

  /** A handler of the current request has failed. The statement, COMMIT or service that the error came from may have said so already. */
  failed(error: unknown): void {
    const request = this.current();
    if (!request) return;
    if (isObject(error)) {
      if (this.#thrown.get(error) === request) return;
      this.#thrown.set(error, request);
    }
    const known = chainOf(error).some((one) => this.#named.has(one));
    this.record('threw', { place: Where.of(error), ...(known && { known }) }, { of: request, error });
  }

  /** Adds a trouble outside of requests. */
  noticed(sign: Sign, record?: RequestRecord): void {
    const { status = 0, state } = record?.summary ?? {};
    const failed = status >= 500 || state === 'aborted';
    this.#troubles.add(sign, Date.now(), record && { id: record.id, name: record.name, failed });
    this.#noticedAt = ++this.#version;
  }

  /** Adds the problems of the graph once: they are no occurrences. */
  graphIs(signs: readonly Sign[]): void {
    for (const sign of signs) if (!this.#troubles.has(sign)) this.noticed(sign);
  }

  opened(scope: Container): void {
    const above = scope.parent && this.#scopes.get(scope.parent);
    // A scope without a known parent belongs to another application in this process.
    if (!above || this.#options.isPaused?.() === true) return;
    this.#open(scope, boxBelow(above.box, scope), false, above.request ?? this.current());
  }

  closed(scope: object): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    const { id, request, services } = entry;
    this.#scopes.delete(scope);
    this.#openScopes.delete(id);
    for (const service of services) service.count('alive', -1);
    this.#leaves(scope, entry);
    if (!request) return;
    request.scopeClosed(entry.record, this.now());
    this.#touch(request);
    // A scope that is disposed late adds to a request that has its response.
    if (request.over && request.summary.open === 0) this.#judge(request);
  }

  /** @param isKept - by its scope: of a transient one nobody knows for how long it is alive */
  created(scope: object, key: Key, took: number, isKept: boolean): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    const name = label(key);
    const row = this.services.row(`${entry.box}: ${name}`);
    row?.took(took);
    if (row && isKept) {
      row.count('alive');
      entry.services.push(row);
    }
    this.record('created', { key: name, took }, { scope });
  }

  /** A transaction has a connection. */
  acquired(scope: object): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    this.#holding.set(scope, { request: entry.request, since: this.now(), until: undefined, last: entry.where });
  }

  begun(scope: object, took: number): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    entry.inTransaction = true;
    this.record('begin', { took }, { scope });
  }

  /** @param scope - of its transaction; undefined of a statement outside of one */
  statement(sql: string, took: number, place: Where | undefined, { scope, error }: Owner): void {
    const held = scope && this.#holding.get(scope);
    if (held) held.last = place ?? held.last;
    const outside = scope === undefined;
    if (outside && error === undefined)
      this.#ends({ request: this.origin(), since: this.now() - took, until: this.now(), last: place });
    const request = this.record('statement', { sql, took, place, ...(outside && { outside }) }, { scope, error });
    const row = this.statements.row(sql);
    if (!row) return;
    row.took(took, request?.name);
    row.place ??= place;
    if (error !== undefined) row.count('failed');
    if (outside) row.count('outside');
  }

  refused(parent: object): void {
    this.#transactions.refused++;
    this.#scopes.get(parent)?.request?.transactionFinished('refused');
  }

  finished(scope: object, outcome: Exclude<Outcome, 'refused'>, took: number, error: unknown): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    this.#leaves(scope, entry);
    this.#transactions[outcome]++;
    entry.request?.transactionFinished(outcome);
    this.record(FINAL_STEP[outcome], { took }, { scope, error });
  }

  /** The holders of connections while another request waited: all of them, and the one that had its connection for longest. */
  holders(from: number): Pick<Facts, 'doing' | 'heldAt' | 'heldBy' | 'shares'> {
    const to = this.now();
    const held = this.#heldSince(from);
    const [most] = held.toSorted((one, other) => shareOf(other, from, to) - shareOf(one, from, to));
    if (!most) return {};
    const { request, since, until = to, last } = most;
    const name = request?.name ?? OUTSIDE;
    const line = last?.line;
    const who = `${name}${request ? ` (request ${request.id}${request.over ? ', which has its response' : ''})` : ''}`;
    const where = line === undefined ? '' : `, since ${line}`;
    // None of many short transactions is to blame.
    const isBusy = shareOf(most, from, to) < (to - from) / 2;
    const doing = `meanwhile ${isBusy ? 'nobody had one for half of that; ' : ''}for longest ${who} had one, for ${ms(until - since)}${where}`;
    const shares = sharesOf(held, from, to);
    if (isBusy) return { doing, shares };
    return { doing, shares, heldBy: name, ...(line !== undefined && { heldAt: line }) };
  }

  #heldSince(from: number): Held[] {
    return [...this.#holding.values(), ...this.#ended].filter(({ until = Infinity }) => until > from);
  }

  // ---- What is known.

  state(pool?: Now['pool'], since = 0): Pick<State, 'now' | 'requests' | 'troubles' | 'version'> {
    const now = this.#now(pool);
    const kept = [...this.#newest.values(), ...this.#troubled.values()];
    const changed = kept.filter(({ version }) => version > since);
    const requests = changed.toSorted((one, other) => one.id - other.id).map(({ summary }) => ({ ...summary }));
    const troubles = since === 0 || this.#noticedAt > since ? { troubles: this.#troubles.all() } : {};
    return { version: this.#version, now, requests, ...troubles };
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

  #get(id: number): RequestRecord | undefined {
    return this.#troubled.get(id) ?? this.#newest.get(id);
  }

  /** Marks a request as changed, if it is kept. It is from now on if it has trouble. */
  #touch(record: RequestRecord): void {
    const [at, last] = [this.now(), this.#newestRecord];
    const took = at - (last?.at ?? at);
    const { at: former = -Infinity, took: longest = 0 } = this.#longestGap ?? {};
    if (last && (took > longest || at - former > AFTERWARDS_MS / 4))
      this.#longestGap = { request: last.request, at, took };
    this.#newestRecord = { request: record, at };
    record.summary.trouble = record.trouble;
    if (record.trouble && !this.#troubled.has(record.id)) {
      this.#newest.delete(record.id);
      keepNewest(this.#troubled, record, this.#options.keepTrouble);
    }
    record.version = ++this.#version;
  }

  #addToRoute({ name, summary }: RequestRecord): void {
    const { state, status = 0, milliseconds = 0, outcome, statements, statementMs } = summary;
    const row = this.routes.row(name);
    if (!row) return;
    row.took(milliseconds);
    if (state === 'aborted') row.count('aborted');
    else if (status >= 500) row.count('failed');
    else if (status >= 400) row.count('refused');
    if (outcome !== undefined && outcome !== 'committed') row.count('rolledBack');
    row.count('statements', statements);
    row.count('statementMs', statementMs);
  }

  /** A request without trouble costs a comparison. */
  #judge(record: RequestRecord): void {
    if (!record.suspicious) return;
    for (const sign of signsOf(record.details(this.now()), this.#options)) {
      // Once for each request and cause.
      if (!record.has(sign)) this.#note(record, sign);
    }
  }

  #note(record: RequestRecord, sign: Sign): void {
    record.note(sign);
    this.noticed({ ...sign, step: undefined }, record);
    this.#touch(record);
  }

  /** @param isOlder - than the recording */
  #open(scope: Container, box: string, isOlder: boolean, request: RequestRecord | undefined): void {
    const opened = this.now();
    // oxlint-disable-next-line typescript/unbound-method -- names the call that the stack begins below
    const where = isOlder ? undefined : new Where(scope.createScope);
    const record = request?.scopeOpened(box, opened);
    const known = { id: ++this.#ids, box, opened, request, record, where };
    const entry: OpenedScope = { ...known, services: [], inTransaction: false, leaked: false };
    this.#scopes.set(scope, entry);
    this.#openScopes.set(entry.id, entry);
    const [oldest = entry.id] = this.#openScopes.keys();
    if (this.#openScopes.size > MOST_OPEN) this.#openScopes.delete(oldest);
    if (request) this.#touch(request);
  }

  /** The scope has no transaction and no connection any more, with or without a known outcome. */
  #leaves(scope: object, entry: OpenedScope): void {
    entry.inTransaction = false;
    const held = this.#holding.get(scope);
    if (!held) return;
    held.until = this.now();
    this.#holding.delete(scope);
    this.#ends(held);
  }

  #ends(held: Held): void {
    if (this.#ended.push(held) > MOST_ENDED) this.#ended.shift();
  }

  #now(pool: Now['pool']): Now {
    const now = this.now();
    for (const record of this.#newest.values()) if (record.lost) this.complete(record);
    const open = [...this.#openScopes.values()];
    const old = now - this.#options.limitMs;
    for (const entry of open) {
      if (entry.opened > old) break;
      // While its request is in progress, the scope is only slow.
      if (!entry.leaked && entry.request?.over) this.#leak(entry, entry.request);
    }
    const kinds = new Map<string, { open: number; leaks: number }>();
    for (const { box, leaked } of open) {
      const { open: count, leaks } = kinds.get(box) ?? { open: 0, leaks: 0 };
      kinds.set(box, { open: count + 1, leaks: leaks + Number(leaked) });
    }
    return {
      arrived: this.#arrived,
      kinds: Array.from(kinds, ([box, counts]) => ({ box, ...counts })).slice(0, MOST_KINDS),
      // The application scope is open all the time.
      scopes: open
        .filter(({ id, opened }) => id > 1 && opened <= old)
        .slice(0, MOST_SHOWN)
        .map(({ id, box, opened, where, request }): OpenScope => {
          const line = where?.line;
          const more = { ...(line !== undefined && { where: line }), ...(request && { request: request.id }) };
          return { id, box, age: now - opened, ...more };
        }),
      transactions: { open: open.filter(({ inTransaction }) => inTransaction).length, ...this.#transactions },
      ...(pool && { pool }),
      holders: sharesOf(this.#heldSince(now - RECENT_MS), now - RECENT_MS, now),
    };
  }

  /** Each scope is an occurrence: a leak that grows has to be seen growing. */
  #leak(entry: OpenedScope, request: RequestRecord): void {
    const { box, record, where } = entry;
    entry.leaked = true;
    if (record) record.place = where;
    this.#note(request, signOf({ kind: 'leak', ...leakOf(box, where?.line, this.#options) }));
  }
}

const OUTSIDE = 'work outside of requests';

const shareOf = ({ since, until = Infinity }: Held, from: number, to: number): number =>
  Math.max(0, Math.min(until, to) - Math.max(since, from));

/** By route and line, the longest first. */
function sharesOf(held: readonly Held[], from: number, to: number): Share[] {
  const shares = new Map<string, Share>();
  for (const one of held) {
    const { request, last } = one;
    const [name, where] = [request?.name ?? OUTSIDE, last?.line];
    const key = `${name} ${where}`;
    const took = (shares.get(key)?.took ?? 0) + shareOf(one, from, to);
    shares.set(key, { name, ...(where !== undefined && { where }), took });
  }
  return [...shares.values()].toSorted((one, other) => other.took - one.took).slice(0, MOST_SHOWN);
}

interface Owner {
  readonly scope?: object | undefined;
  readonly of?: RequestRecord | undefined;
  readonly error?: unknown;
}

/** Adds a record, in place of the oldest where there are more than `most`. */
function keepNewest(kept: Map<number, RequestRecord>, record: RequestRecord, most: number): void {
  kept.set(record.id, record);
  const [oldest = record.id] = kept.keys();
  if (kept.size > most) kept.delete(oldest);
}

const isObject = (one: unknown): one is object => typeof one === 'object' && one !== null;

/** The error and its causes. */
function chainOf(error: unknown): object[] {
  const chain: object[] = [];
  try {
    for (let one = error; isObject(one) && chain.length < DEEPEST_CAUSE; one = (one as { cause?: unknown }).cause)
      chain.push(one);
  } catch {
    // An object that an application throws may throw when it is read.
  }
  return chain;
}
