import type { Container, Key } from '@ambit/container';
import { failure } from './error-names.js';
import { Lateness } from './loop.js';
import { boxBelow, boxOf, label, lineageOf, ms } from './names.js';
import { type Arrival, type Facts, RequestList, type RequestListOptions, type RequestRecord } from './requests.js';
import { idOf, LONG_WAIT_MS, type Sign, signsOf } from './signs.js';
import { type ServiceCount, ServiceTable, StatementTable } from './tables.js';
import { type Definition, Troubles } from './troubles.js';
import { Where } from './where.js';
import type { KindNow, Now, OpenScope, Outcome, RequestDetails, RouteStats, StepKind, Tick, Trouble } from './wire.js';

export interface StoreOptions extends RequestListOptions {
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** The request on whose behalf this code runs. */
  readonly current: () => RequestRecord | undefined;
  readonly limitMs: number;
  /** The line of a service. */
  readonly definition?: Definition;
}

/** The facts about an open scope. It keeps no reference to the container, so the inspector keeps nothing in memory. */
interface OpenedScope {
  readonly id: number;
  readonly box: string;
  readonly opened: number;
  /** It was open before the recording began. */
  readonly atLeast: boolean;
  readonly request: RequestRecord | undefined;
  readonly span: number | undefined;
  readonly where: Where | undefined;
  readonly services: ServiceCount[];
  inTransaction: boolean;
  /** It is older than the limit, and its request is complete. */
  leaked: boolean;
}

/** A transaction of this process, which has a connection. */
interface Held {
  readonly request: RequestRecord | undefined;
  readonly since: number;
  until: number | undefined;
  /** The line of its last statement; before the first, the line that opened its scope. */
  last: Where | undefined;
}

/** If tags are made from data, kinds beyond this number are counted together. */
const MOST_KINDS = 100;
const THE_REST = 'other kinds';
/** Beyond this number, open scopes are counted but not listed. */
const MOST_LISTED = 5000;
const MOST_SHOWN = 40;
/** Those who waited for a connection look at them within the same milliseconds. */
const MOST_ENDED = 256;
/** The step with which a transaction completes. */
const FINAL_STEP: Record<Exclude<Outcome, 'refused'>, StepKind> = {
  committed: 'commit',
  'rolled back': 'rollback',
  unknown: 'commit unknown',
};

/**
 * Keeps a bounded part of what happens, each as a record of one form: what kind, when, at which line, in which scope of which request, and
 * further facts. The page and the tools show what is here.
 */
export class Store {
  readonly lateness = new Lateness();
  readonly services = new ServiceTable();
  readonly statements = new StatementTable();
  readonly #options: StoreOptions;
  readonly #requests: RequestList;
  readonly #troubles: Troubles;
  readonly #scopes = new WeakMap<object, OpenedScope>();
  readonly #kinds = new Map<string, { open: number; leaks: number }>();
  /** In order of opening, so the oldest come first. */
  readonly #listed = new Map<number, OpenedScope>();
  readonly #transactions: Record<'open' | Outcome, number> = {
    open: 0,
    committed: 0,
    refused: 0,
    'rolled back': 0,
    unknown: 0,
  };
  readonly #holding = new Map<object, Held>();
  readonly #ended: Held[] = [];
  #sentTroubles = 0;
  #ids = 0;
  #paused = false;

  /** Starts with the application scope and the scopes that are open already. */
  constructor(application: Container, open: readonly Container[], options: StoreOptions) {
    this.#options = options;
    this.#requests = new RequestList(options);
    this.#troubles = new Troubles(options.definition);
    for (const scope of [application, ...open])
      this.#open(scope, boxOf(lineageOf(scope)), { atLeast: true, request: undefined });
    // It is open all the time.
    this.#listed.delete(this.#scopes.get(application)?.id ?? 0);
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

  /**
   * Adds a record to the request that the scope belongs to; without a scope, or one that belongs to no request, to the request on whose
   * behalf the code runs, or to `of`.
   *
   * @param error - what failed, which is named and accounted for
   */
  record(kind: StepKind, facts: Facts, { scope, of, error }: Owner = {}): RequestRecord | undefined {
    const opened = scope && this.#scopes.get(scope);
    const request = of ?? opened?.request ?? this.current();
    if (!request) return undefined;
    const { took = 0 } = facts;
    const now = this.now();
    const late = took >= LONG_WAIT_MS ? this.lateness.within(now - took, now) : 0;
    const span = opened?.request === undefined ? undefined : opened.span;
    request.step(kind, now, {
      ...facts,
      ...failure(error),
      ...(span !== undefined && { span }),
      ...(late > 0 && { late }),
    });
    request.account(error);
    this.#requests.touch(request);
    return request;
  }

  /** Returns the record of a new request, or undefined if too many are in progress. */
  arrive(arrival: Arrival): RequestRecord | undefined {
    return this.#requests.arrive(arrival, this.now());
  }

  /** @param status - of the response; undefined where the client disconnected before it was complete */
  complete(record: RequestRecord, status?: number): void {
    if (record.over) return;
    const now = this.now();
    if (status === undefined) record.aborted(now);
    else record.responded(status, now, this.lateness.within(record.start, now));
    this.#requests.completed(record);
    this.#judge(record);
  }

  /** A handler of the current request has failed. */
  failed(error: unknown): void {
    const request = this.current();
    request?.threw(error, this.now());
    this.#requests.touch(request);
  }

  /** Adds a trouble outside of requests. */
  noticed(sign: Sign): void {
    this.#troubles.add(sign, Date.now());
  }

  /** Adds the problems of the graph once: they are no occurrences. */
  graphIs(signs: readonly Sign[]): void {
    for (const sign of signs) if (!this.#troubles.has(sign)) this.noticed(sign);
  }

  opened(scope: Container): void {
    const above = scope.parent && this.#scopes.get(scope.parent);
    // A scope without a known parent belongs to another application in this process.
    if (!above || this.#paused) return;
    this.#open(scope, boxBelow(above.box, scope), { request: above.request ?? this.current(), atLeast: false });
  }

  closed(scope: object): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    const kind = this.#kind(entry.box);
    kind.open--;
    if (entry.leaked) kind.leaks--;
    this.#scopes.delete(scope);
    this.#listed.delete(entry.id);
    for (const service of entry.services) this.services.removed(service);
    this.#leaves(scope, entry);
    entry.request?.closeSpan(entry.span, this.now());
    this.#requests.touch(entry.request);
    // A scope that is disposed late adds to a request that has its response.
    if (entry.request?.settled) this.#judge(entry.request);
  }

  /** @param isKept - by its scope */
  created(scope: object, key: Key, took: number, isKept: boolean): void {
    const entry = this.#scopes.get(scope);
    if (!entry) return;
    const count = this.services.created(entry.box, label(key), took, isKept);
    if (count && isKept) entry.services.push(count);
    this.record('created', { key: label(key), took }, { scope });
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
    this.#transactions.open++;
    this.record('begin', { took }, { scope });
  }

  /** A statement was sent in the transaction, at this line. */
  sent(scope: object, place: Where | undefined): void {
    const held = this.#holding.get(scope);
    if (held) held.last = place ?? held.last;
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

  /** The holders of connections while another request waited, and the line of the one that had its connection for longest. */
  holders(from: number): Pick<Facts, 'doing' | 'heldAt' | 'heldBy'> {
    const to = this.now();
    const share = ({ since, until = to }: Held): number => Math.min(until, to) - Math.max(since, from);
    const held = [...this.#holding.values(), ...this.#ended]
      .filter((one) => share(one) > 0)
      .toSorted((one, other) => share(other) - share(one));
    const [most] = held;
    if (!most) return {};
    const { request, since, until = to, last } = most;
    const name = request?.name ?? 'work outside of requests';
    const line = last?.line;
    const who = `${name}${request ? ` (request ${request.id}${request.over ? ', which has its response' : ''})` : ''}`;
    const where = line === undefined ? '' : `, since ${line}`;
    const many = held.length === 1 ? 'a transaction' : `${held.length} transactions`;
    // None of many short transactions is to blame.
    const isBusy = share(most) < (to - from) / 2;
    const none = isBusy ? ', none of them for half of that' : '';
    const doing = `meanwhile ${many} had one${none}; for longest ${who}, for ${ms(until - since)}${where}`;
    if (isBusy) return { doing };
    return { doing, heldBy: name, ...(line !== undefined && { heldAt: line }) };
  }

  /** Runs the work without recording the scopes it opens. */
  unrecorded<T>(work: () => T): T {
    this.#paused = true;
    try {
      return work();
    } finally {
      this.#paused = false;
    }
  }

  /** The complete state. */
  all(pool?: Now['pool']): Tick {
    const now = this.#state(pool);
    return { now, requests: this.#requests.all(), troubles: this.troubles() };
  }

  /** The changes since the last call. */
  tick(pool?: Now['pool']): Tick {
    const now = this.#state(pool);
    const { occurrences } = this.#troubles;
    const troubles = occurrences === this.#sentTroubles ? {} : { troubles: this.troubles() };
    this.#sentTroubles = occurrences;
    return { now, requests: this.#requests.takeChanged(), ...troubles };
  }

  troubles(): Trouble[] {
    return this.#troubles.all();
  }

  details(id: number): RequestDetails | undefined {
    return this.#requests.get(id)?.details(this.now());
  }

  routes(): RouteStats[] {
    return this.#requests.routes.all();
  }

  /** A request without trouble costs a comparison. */
  #judge(record: RequestRecord): void {
    if (!record.suspicious) return;
    for (const sign of signsOf(record.details(this.now()), this.#options.slowMs)) {
      // Once for each request and cause.
      if (record.noted.has(idOf(sign))) continue;
      record.noted.add(idOf(sign));
      this.#note(record, sign);
    }
  }

  #note(record: RequestRecord, sign: Sign): void {
    this.#requests.keep(record);
    this.#troubles.add(sign, Date.now(), record);
  }

  #open(scope: Container, box: string, { atLeast, request }: Pick<OpenedScope, 'atLeast' | 'request'>): void {
    const opened = this.now();
    const isListed = this.#listed.size < MOST_LISTED;
    // oxlint-disable-next-line typescript/unbound-method -- names the call that the stack begins below
    const where = atLeast || !isListed ? undefined : new Where(scope.createScope);
    const span = request?.openSpan(box, opened);
    const known = { id: ++this.#ids, box, opened, atLeast, request, span, where };
    const entry: OpenedScope = { ...known, services: [], inTransaction: false, leaked: false };
    this.#scopes.set(scope, entry);
    this.#kind(box).open++;
    if (isListed) this.#listed.set(entry.id, entry);
    this.#requests.touch(request);
  }

  /** The scope has no transaction and no connection any more, with or without a known outcome. */
  #leaves(scope: object, entry: OpenedScope): void {
    if (entry.inTransaction) this.#transactions.open--;
    entry.inTransaction = false;
    const held = this.#holding.get(scope);
    if (!held) return;
    held.until = this.now();
    this.#holding.delete(scope);
    if (this.#ended.push(held) > MOST_ENDED) this.#ended.shift();
  }

  #kind(box: string): { open: number; leaks: number } {
    const name = this.#kinds.has(box) || this.#kinds.size < MOST_KINDS ? box : THE_REST;
    const kind = this.#kinds.get(name) ?? { open: 0, leaks: 0 };
    this.#kinds.set(name, kind);
    return kind;
  }

  #state(pool: Now['pool']): Now {
    const now = this.now();
    for (const record of this.#requests.lost()) this.complete(record);
    for (const entry of this.#listed.values()) {
      if (entry.opened > now - this.#options.limitMs) break;
      // While its request is in progress, the scope is only slow.
      if (!entry.leaked && entry.request?.over) this.#leak(entry, entry.request);
    }
    return {
      ...this.#requests.counts(now),
      kinds: Array.from(this.#kinds, ([box, kind]): KindNow => ({ box, ...kind })),
      scopes: this.#oldest(now),
      transactions: { ...this.#transactions },
      ...(pool && { pool }),
    };
  }

  /** Each scope is an occurrence: a leak that grows has to be seen growing. */
  #leak(entry: OpenedScope, request: RequestRecord): void {
    entry.leaked = true;
    this.#kind(entry.box).leaks++;
    request.leak(entry.span, entry.where?.lines() ?? []);
    this.#note(request, {
      kind: 'leak',
      cause: `A scope (${entry.box}) is open for more than ${this.#options.limitMs / 1000} s after its request was complete`,
      where: entry.where?.line,
      about: entry.box,
    });
  }

  #oldest(now: number): OpenScope[] {
    const oldest: OpenScope[] = [];
    for (const { id, box, opened, atLeast, where, request } of this.#listed.values()) {
      const old = opened <= now - this.#options.limitMs;
      const line = old && where ? { where: where.lines() } : {};
      oldest.push({ id, box, age: now - opened, atLeast, old, ...line, ...(request && { request: request.id }) });
      if (oldest.length === MOST_SHOWN) break;
    }
    return oldest;
  }
}

interface Owner {
  readonly scope?: object | undefined;
  readonly of?: RequestRecord | undefined;
  readonly error?: unknown;
}
