import type { Container, Key } from '@ambit/container';
import { type FindingMessage, findingStep } from './finding-step.js';
import { boxBelow, boxOf, failure, label, lineageOf } from './names.js';
import { LeakGroups } from './leak-groups.js';
import { OpenScopes } from './open-scopes.js';
import { RequestList, type RequestListOptions } from './request-list.js';
import type { Arrival, RequestRecord, StepDetails } from './request-record.js';
import { newEntry, type ScopeEntry } from './scope-entry.js';
import { ServiceCounts } from './service-counts.js';
import { withoutValues } from './sql-text.js';
import { FINAL_STEP, TransactionTally } from './transaction-tally.js';
import { Where } from './where.js';
import type { Now, Outcome, RequestDetails, StepKind, Tick } from './wire.js';

export interface RecorderOptions extends RequestListOptions {
  readonly limitMs: number;
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** The request on whose behalf this code runs. */
  readonly current: () => RequestRecord | undefined;
}

/** Keeps a bounded part of the channels' messages, as plain data. Knows neither channels nor HTTP. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #entries = new WeakMap<object, ScopeEntry>();
  readonly #scopes = new OpenScopes();
  readonly #services = new ServiceCounts();
  readonly #requests: RequestList;
  readonly #transactions = new TransactionTally();
  readonly #leaks = new LeakGroups();
  #ids = 0;
  #ticks = 0;
  #paused = false;

  /** Starts with the application scope and the scopes that are open already. */
  constructor(application: Container, open: readonly Container[], options: RecorderOptions) {
    this.#options = options;
    this.#requests = new RequestList(options);
    for (const scope of [application, ...open])
      this.#add(scope, boxOf(lineageOf(scope)), { atLeast: true, request: undefined });
    this.#scopes.unlist(this.#entries.get(application));
  }

  /** Returns the record of a new request, or undefined if too many are in progress. */
  arrive(arrival: Arrival): RequestRecord | undefined {
    return this.#requests.arrive(arrival, this.#options.now());
  }

  responded(record: RequestRecord, status: number): void {
    record.responded(status, this.#options.now());
    this.#requests.touch(record);
  }

  aborted(record: RequestRecord): void {
    record.aborted(this.#options.now());
    this.#requests.touch(record);
  }

  scopeOpened(scope: Container): void {
    const above = scope.parent && this.#entries.get(scope.parent);
    // A scope without a known parent belongs to another application in this process.
    if (!above || this.#paused) return;
    const request = above.request ?? this.#options.current();
    this.#add(scope, boxBelow(above.box, scope), { request, atLeast: false });
  }

  scopeClosed(scope: object): void {
    const entry = this.#entries.get(scope);
    if (!entry) return;
    const now = this.#options.now();
    this.#entries.delete(scope);
    this.#scopes.remove(entry, now);
    this.#leaks.closed(entry);
    for (const service of entry.services) this.#services.removed(service);
    this.#transactions.scopeClosed(entry);
    entry.request?.closeSpan(entry.span, now);
    this.#requests.touch(entry.request);
  }

  instanceCreated(scope: object, key: Key, milliseconds: number): void {
    const entry = this.#entries.get(scope);
    if (!entry) return;
    const name = label(key);
    const service = this.#services.created(entry.box, name, milliseconds);
    if (service) entry.services.push(service);
    this.#step(entry, 'created', { key: name, took: milliseconds });
  }

  instanceDisposed(scope: object, key: Key, error: unknown): void {
    const entry = this.#entries.get(scope);
    if (entry) this.#step(entry, 'disposed', { key: label(key), ...failure(error) });
  }

  connectionRefused(parent: object, milliseconds: number, error: unknown): void {
    const entry = this.#entries.get(parent);
    if (!entry) return;
    this.#transactions.refused(entry);
    this.#step(entry, 'no connection', { took: milliseconds, ...failure(error) });
  }

  connectionAcquired(scope: object, milliseconds: number): void {
    const entry = this.#entries.get(scope);
    if (entry) this.#step(entry, 'connection', { took: milliseconds });
  }

  begun(scope: object, milliseconds: number): void {
    const entry = this.#entries.get(scope);
    if (!entry) return;
    this.#transactions.begun(entry);
    this.#step(entry, 'begin', { took: milliseconds });
  }

  statement(scope: object, sql: string, milliseconds: number, error: unknown): void {
    const entry = this.#entries.get(scope);
    if (entry) this.#step(entry, 'statement', { sql: withoutValues(sql), took: milliseconds, ...failure(error) });
  }

  transactionFinished(scope: object, outcome: Exclude<Outcome, 'refused'>, milliseconds: number, error: unknown): void {
    const entry = this.#entries.get(scope);
    if (!entry) return;
    this.#transactions.finished(entry, outcome);
    this.#step(entry, FINAL_STEP[outcome], { took: milliseconds, ...failure(error) });
  }

  /** The transaction check has found something in the code of the current request. */
  found(finding: FindingMessage): void {
    const request = this.#options.current();
    request?.found(this.#options.now(), findingStep(finding));
    this.#requests.touch(request);
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
    return { number: this.#ticks, now, requests, services: this.#services.all(), names: this.#requests.names.all() };
  }

  /** What changed since the last call. */
  tick(pool?: Now['pool']): Tick {
    const now = this.#state(pool);
    const requests = this.#requests.takeChanged();
    const services = this.#services.takeChanged();
    return { number: ++this.#ticks, now, requests, services, names: this.#requests.names.takeNew() };
  }

  details(id: number): RequestDetails | undefined {
    return this.#requests.get(id)?.details(this.#options.now());
  }

  #add(scope: Container, box: string, known: Pick<ScopeEntry, 'atLeast' | 'request'>): void {
    const { request, atLeast } = known;
    const now = this.#options.now();
    const entry = newEntry({
      ...known,
      id: ++this.#ids,
      box,
      opened: now,
      where: atLeast || !this.#scopes.hasCapacity ? undefined : new Where(scope),
    });
    this.#entries.set(scope, entry);
    this.#scopes.add(entry, now);
    this.#requests.touch(request);
  }

  #step(entry: ScopeEntry, kind: StepKind, details: Omit<StepDetails, 'span'>): void {
    // An application singleton is created on behalf of the request that resolves it first.
    const request = entry.request ?? this.#options.current();
    const span = entry.request ? entry.span : undefined;
    request?.step(kind, this.#options.now(), span === undefined ? details : { ...details, span });
    this.#requests.touch(request);
  }

  #state(pool: Now['pool']): Now {
    const now = this.#options.now();
    this.#requests.sweep(now);
    for (const entry of this.#scopes.olderThan(now - this.#options.limitMs)) {
      entry.old = true;
      // While its request is in progress, the scope is only slow.
      if (entry.leaked || !entry.request?.over) continue;
      entry.leaked = true;
      this.#leaks.add(entry);
      entry.request.leak(entry.span, entry.where?.lines() ?? []);
      this.#requests.touch(entry.request);
    }
    return {
      ...this.#requests.perSecond(now),
      kinds: this.#scopes.kinds(now),
      scopes: this.#scopes.oldest(now),
      leaks: this.#leaks.groups(now),
      transactions: this.#transactions.counts(),
      ...(pool && { pool }),
    };
  }
}
