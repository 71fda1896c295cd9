import type { Container } from '@ambit/container';
import { CreationRecorder } from './creations.js';
import { failure } from './error-names.js';
import { Holders } from './holders.js';
import type { Lateness } from './loop.js';
import { boxBelow, boxOf, lineageOf } from './names.js';
import { LeakGroups, newEntry, OpenScopes, type ScopeEntry } from './open-scopes.js';
import {
  type Arrival,
  type Awaited,
  RequestList,
  type RequestListOptions,
  type RequestRecord,
  type StepDetails,
} from './requests.js';
import { StatementRecorder, withoutValues } from './statements.js';
import { Trail, type TrailOptions } from './trail.js';
import { TransactionRecorder } from './transactions.js';
import { idOf, type Sign, signsOf } from './signs.js';
import { type Definition, Troubles } from './troubles.js';
import { Where } from './where.js';
import type { Line, Now, RequestDetails, RouteStats, Tick, Trouble } from './wire.js';

/** The message of `transactionCheck()` of @ambit/transaction/check. */
export interface FindingMessage {
  readonly kind: string;
  readonly place?: { readonly file: string; readonly line: number };
  readonly key?: string;
  readonly sql?: string;
}

function findingStep({ kind, place, key, sql }: FindingMessage): StepDetails {
  return {
    found: kind,
    ...(place && { where: `${place.file}:${place.line}` }),
    ...(key !== undefined && { key }),
    ...(sql !== undefined && { sql: withoutValues(sql) }),
  };
}

export interface RecorderOptions extends RequestListOptions, TrailOptions {
  readonly limitMs: number;
  /** The line of a service. */
  readonly definition?: Definition;
}

/** A call to another service. */
export interface Call extends Awaited {
  readonly request: RequestRecord;
  readonly host: string;
}

const LONGEST_LINE = 2000;

/** Keeps a bounded part of the channels' messages, as plain data. Knows neither channels nor HTTP. */
export class Recorder {
  readonly creations: CreationRecorder;
  readonly statements: StatementRecorder;
  readonly transactions: TransactionRecorder;
  readonly #holders: Holders;
  readonly #options: RecorderOptions;
  readonly #trail: Trail;
  readonly #scopes = new OpenScopes();
  readonly #leaks = new LeakGroups();
  readonly #troubles: Troubles;
  readonly #requests: RequestList;
  #sentTroubles = 0;
  #ids = 0;
  #ticks = 0;
  #paused = false;

  /** Starts with the application scope and the scopes that are open already. */
  constructor(application: Container, open: readonly Container[], options: RecorderOptions) {
    this.#options = options;
    this.#troubles = new Troubles(options.definition);
    this.#requests = new RequestList(options);
    this.#trail = new Trail(options, this.#requests);
    this.creations = new CreationRecorder(this.#trail);
    this.#holders = new Holders(this.#trail.lateness);
    this.statements = new StatementRecorder(this.#trail, this.#holders);
    this.transactions = new TransactionRecorder(this.#trail, this.#holders);
    for (const scope of [application, ...open])
      this.#add(scope, boxOf(lineageOf(scope)), { atLeast: true, request: undefined });
    this.#scopes.unlist(this.#trail.entryOf(application));
  }

  /** Returns the record of a new request, or undefined if too many are in progress. */
  arrive(arrival: Arrival): RequestRecord | undefined {
    return this.#requests.arrive(arrival, this.#trail.now());
  }

  responded(record: RequestRecord, status: number): void {
    if (record.over) return;
    const now = this.#trail.now();
    record.responded(status, now, this.lateness.within(record.start, now));
    this.#requests.completed(record);
    this.#judge(record);
  }

  aborted(record: RequestRecord): void {
    if (record.over) return;
    record.aborted(this.#trail.now());
    this.#requests.completed(record);
    this.#judge(record);
  }

  /** A handler of the current request has failed. */
  failed(error: unknown): void {
    const request = this.#trail.current();
    request?.threw(error, this.#trail.now());
    this.#requests.touch(request);
  }

  /** A call to another service has ended. */
  called(call: Call, error?: unknown): void {
    const { request, place, host, started } = call;
    request.ends(call);
    this.#trail.stepOf(request, 'call', { took: this.#trail.now() - started, host, place, ...failure(error) });
  }

  /** How many requests without trouble are listed per second from now on. */
  sample(perSecond: number): void {
    this.#requests.sample(perSecond);
  }

  /** What goes wrong outside of requests. */
  noticed(sign: Sign): void {
    this.#troubles.add(sign, Date.now());
  }

  /** What is wrong with the graph, which is no occurrence: it is said once. */
  graphIs(signs: readonly Sign[]): void {
    for (const sign of signs) if (!this.#troubles.has(sign)) this.noticed(sign);
  }

  scopeOpened(scope: Container): void {
    const above = scope.parent && this.#trail.entryOf(scope.parent);
    // A scope without a known parent belongs to another application in this process.
    if (!above || this.#paused) return;
    const request = above.request ?? this.#trail.current();
    this.#add(scope, boxBelow(above.box, scope), { request, atLeast: false });
  }

  scopeClosed(scope: object): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    const now = this.#trail.now();
    this.#trail.remove(scope);
    this.#scopes.remove(entry, now);
    this.#leaks.closed(entry);
    for (const service of entry.services) this.creations.counts.removed(service);
    this.transactions.tally.scopeClosed(entry);
    this.#holders.ended(scope, now);
    entry.request?.closeSpan(entry.span, now);
    this.#requests.touch(entry.request);
    // What happened after its response.
    if (entry.request?.settled) this.#judge(entry.request);
  }

  /** The transaction check has found something in the code of the current request. */
  found(finding: FindingMessage): void {
    const request = this.#trail.current();
    request?.found(this.#trail.now(), findingStep(finding));
    this.#requests.touch(request);
  }

  line({ source, level, text }: Line): void {
    this.#trail.step(undefined, 'line', { line: { source, level, text: text.slice(0, LONGEST_LINE) } });
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
    const requests = this.#requests.all();
    const { names } = this.#requests;
    const [services, troubles] = [this.creations.counts.all(), this.troubles()];
    return { number: this.#ticks, now, requests, services, troubles, names: names.all() };
  }

  /** The changes since the last call. */
  tick(pool?: Now['pool']): Tick {
    const now = this.#state(pool);
    const requests = this.#requests.takeChanged();
    const services = this.creations.counts.takeChanged();
    const occurrences = this.#troubles.occurrencesUntil(Date.now());
    const troubles = occurrences === this.#sentTroubles ? undefined : this.troubles();
    this.#sentTroubles = occurrences;
    const names = this.#requests.names.takeNew();
    return { number: ++this.#ticks, now, requests, services, ...(troubles && { troubles }), names };
  }

  get lateness(): Lateness {
    return this.#trail.lateness;
  }

  get hasRequests(): boolean {
    return this.#requests.hasAny;
  }

  troubles(): Trouble[] {
    return this.#troubles.all(Date.now());
  }

  details(id: number): RequestDetails | undefined {
    return this.#requests.get(id)?.details(this.#trail.now());
  }

  routes(): RouteStats[] {
    return this.#requests.routes.all();
  }

  /** A request without trouble costs a comparison. */
  #judge(record: RequestRecord): void {
    if (!record.suspicious) return;
    for (const sign of signsOf(record.details(this.#trail.now()), this.#options.slowMs)) this.#note(record, sign);
  }

  /** Once for each request and cause. */
  #note(record: RequestRecord, sign: Sign): void {
    const id = idOf(sign);
    if (record.noted.has(id)) return;
    record.noted.add(id);
    this.#requests.keep(record);
    if (sign.kind === 'aborted') this.#troubles.aborted(sign, Date.now(), record);
    else this.#troubles.add(sign, Date.now(), record);
  }

  #add(scope: Container, box: string, known: Pick<ScopeEntry, 'atLeast' | 'request'>): void {
    const now = this.#trail.now();
    // oxlint-disable-next-line typescript/unbound-method -- names the call that the stack begins below
    const where = known.atLeast || !this.#scopes.hasCapacity ? undefined : new Where(scope.createScope);
    const entry = newEntry({ ...known, id: ++this.#ids, box, opened: now, where });
    this.#trail.add(scope, entry);
    this.#scopes.add(entry, now);
  }

  #state(pool: Now['pool']): Now {
    const now = this.#trail.now();
    this.#requests.sweep(now);
    for (const entry of this.#scopes.olderThan(now - this.#options.limitMs)) {
      entry.old = true;
      // While its request is in progress, the scope is only slow.
      if (entry.leaked || !entry.request?.over) continue;
      entry.leaked = true;
      this.#leaks.add(entry);
      entry.request.leak(entry.span, entry.where?.lines() ?? []);
      this.#requests.touch(entry.request);
      this.#note(entry.request, {
        kind: 'leak',
        cause: `A scope (${entry.box}) is open for more than ${this.#options.limitMs / 1000} s after its request was complete`,
        where: entry.where?.line,
        about: entry.box,
      });
    }
    return {
      ...this.#requests.counts(now),
      kinds: this.#scopes.kinds(now),
      scopes: this.#scopes.oldest(now),
      leaks: this.#leaks.groups(now),
      transactions: this.transactions.tally.counts(),
      ...(pool && { pool }),
    };
  }
}
