import type { Container, Key } from '@ambit/container';
import { boxBelow, boxOf, failure, label, lineageOf } from './names.js';
import { OpenScopes } from './open-scopes.js';
import { RequestList } from './request-list.js';
import type { Arrival, RequestRecord, StepDetails } from './request-record.js';
import { newEntry, type ScopeEntry } from './scope-entry.js';
import { ServiceCounts } from './service-counts.js';
import { withoutValues } from './sql-text.js';
import { TransactionTally } from './transaction-tally.js';
import { Where } from './where.js';
import type { Now, Outcome, RequestDetails, StepKind, Tick } from './wire.js';

export interface RecorderOptions {
  readonly limitMs: number;
  readonly samplesPerSecond: number;
  readonly keep: number;
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** The request on whose behalf this code runs. */
  readonly current: () => RequestRecord | undefined;
}

const END: Record<Exclude<Outcome, 'refused'>, StepKind> = {
  committed: 'commit',
  'rolled back': 'rollback',
  unknown: 'end unknown',
};

/** Remembers a bounded part of what the channels tell, as plain data. Knows neither channels nor HTTP. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #entries = new WeakMap<object, ScopeEntry>();
  readonly #scopes = new OpenScopes();
  readonly #services = new ServiceCounts();
  readonly #requests: RequestList;
  readonly #transactions = new TransactionTally();
  #ids = 0;
  #unseen = false;

  /** The application and the scopes that are open already. */
  constructor(application: Container, open: readonly Container[], options: RecorderOptions) {
    this.#options = options;
    this.#requests = new RequestList(options);
    for (const scope of [application, ...open])
      this.#add(scope, boxOf(lineageOf(scope)), { atLeast: true, request: undefined });
    this.#scopes.unlist(this.#entries.get(application));
  }

  /** A request has arrived; gives its record, or nothing when there were too many in this second. */
  arrive(arrival: Arrival): RequestRecord | undefined {
    return this.#requests.arrive(arrival, this.#options.now());
  }

  answered(record: RequestRecord, status: number): void {
    record.answered(status, this.#options.now());
    this.#requests.touch(record);
  }

  aborted(record: RequestRecord): void {
    record.aborted(this.#options.now());
    this.#requests.touch(record);
  }

  scopeOpened(scope: Container): void {
    const above = scope.parent && this.#entries.get(scope.parent);
    // Of another application in this process.
    if (!above || this.#unseen) return;
    const request = above.request ?? this.#options.current();
    this.#add(scope, boxBelow(above.box, scope), { request, atLeast: false });
  }

  scopeClosed(scope: object): void {
    const entry = this.#entries.get(scope);
    if (!entry) return;
    const now = this.#options.now();
    this.#entries.delete(scope);
    this.#scopes.remove(entry, now);
    for (const service of entry.services) this.#services.gone(service);
    this.#transactions.left(entry);
    entry.request?.endLane(entry.lane, now);
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

  ended(scope: object, outcome: Exclude<Outcome, 'refused'>, milliseconds: number, error: unknown): void {
    const entry = this.#entries.get(scope);
    if (!entry) return;
    this.#transactions.ended(entry, outcome);
    this.#step(entry, END[outcome], { took: milliseconds, ...failure(error) });
  }

  /** Runs the work without recording the scopes it opens. */
  unseen<T>(work: () => T): T {
    this.#unseen = true;
    try {
      return work();
    } finally {
      this.#unseen = false;
    }
  }

  /** Everything there is. */
  all(pool?: Now['pool']): Tick {
    return { now: this.#state(pool), requests: this.#requests.all(), services: this.#services.all() };
  }

  /** What changed since this was asked last. */
  tick(pool?: Now['pool']): Tick {
    return {
      now: this.#state(pool),
      requests: this.#requests.takeChanged(),
      services: this.#services.takeChanged(),
    };
  }

  details(id: number): RequestDetails | undefined {
    return this.#requests.get(id)?.details();
  }

  #add(scope: Container, box: string, known: Pick<ScopeEntry, 'atLeast' | 'request'>): void {
    const { request, atLeast } = known;
    const now = this.#options.now();
    const entry = newEntry({
      ...known,
      id: ++this.#ids,
      box,
      opened: now,
      where: atLeast || !this.#scopes.roomForMore ? undefined : new Where(scope),
    });
    this.#entries.set(scope, entry);
    this.#scopes.add(entry, now);
    this.#requests.touch(request);
  }

  #step(entry: ScopeEntry, kind: StepKind, details: Omit<StepDetails, 'lane'>): void {
    // What the application makes, it makes because some request asked.
    const request = entry.request ?? this.#options.current();
    const lane = entry.request ? entry.lane : undefined;
    request?.step(kind, this.#options.now(), lane === undefined ? details : { ...details, lane });
    this.#requests.touch(request);
  }

  #state(pool: Now['pool']): Now {
    const now = this.#options.now();
    this.#requests.sweep(now);
    for (const entry of this.#scopes.olderThan(now - this.#options.limitMs)) {
      entry.old = true;
      // While its request is under way, it is only slow.
      if (entry.leaked || !entry.request?.over) continue;
      entry.leaked = true;
      entry.request.leak(entry.lane, entry.where?.lines() ?? []);
      this.#requests.touch(entry.request);
    }
    return {
      ...this.#requests.perSecond(now),
      kinds: this.#scopes.kinds(now),
      scopes: this.#scopes.oldest(now),
      transactions: this.#transactions.counts(),
      ...(pool && { pool }),
    };
  }
}
