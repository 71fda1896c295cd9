import type { Container } from '@ambit/container';
import { CreationRecorder } from './creation-recorder.js';
import { type FindingMessage, findingStep } from './finding-step.js';
import { LeakGroups } from './leak-groups.js';
import { boxBelow, boxOf, lineageOf } from './names.js';
import { OpenScopes } from './open-scopes.js';
import { RequestList, type RequestListOptions } from './request-list.js';
import type { Arrival, RequestRecord } from './request-record.js';
import { newEntry, type ScopeEntry } from './scope-entry.js';
import { StatementRecorder } from './statement-recorder.js';
import { Trail, type TrailOptions } from './trail.js';
import { TransactionRecorder } from './transaction-recorder.js';
import { Where } from './where.js';
import type { Line, Now, RequestDetails, RouteStats, Tick } from './wire.js';

export interface RecorderOptions extends RequestListOptions, TrailOptions {
  readonly limitMs: number;
}

const LONGEST_LINE = 2000;

/** Keeps a bounded part of the channels' messages, as plain data. Knows neither channels nor HTTP. */
export class Recorder {
  readonly creations: CreationRecorder;
  readonly statements: StatementRecorder;
  readonly transactions: TransactionRecorder;
  readonly #options: RecorderOptions;
  readonly #trail: Trail;
  readonly #scopes = new OpenScopes();
  readonly #leaks = new LeakGroups();
  readonly #requests: RequestList;
  #ids = 0;
  #ticks = 0;
  #paused = false;

  /** Starts with the application scope and the scopes that are open already. */
  constructor(application: Container, open: readonly Container[], options: RecorderOptions) {
    this.#options = options;
    this.#requests = new RequestList(options);
    this.#trail = new Trail(options, this.#requests);
    this.creations = new CreationRecorder(this.#trail);
    this.statements = new StatementRecorder(this.#trail);
    this.transactions = new TransactionRecorder(this.#trail);
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
    record.responded(status, this.#trail.now());
    this.#requests.completed(record);
  }

  aborted(record: RequestRecord): void {
    if (record.over) return;
    record.aborted(this.#trail.now());
    this.#requests.completed(record);
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
    entry.request?.closeSpan(entry.span, now);
    this.#requests.touch(entry.request);
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
    return { number: this.#ticks, now, requests, services: this.creations.counts.all(), names: names.all() };
  }

  /** What changed since the last call. */
  tick(pool?: Now['pool']): Tick {
    const now = this.#state(pool);
    const requests = this.#requests.takeChanged();
    const services = this.creations.counts.takeChanged();
    return { number: ++this.#ticks, now, requests, services, names: this.#requests.names.takeNew() };
  }

  details(id: number): RequestDetails | undefined {
    return this.#requests.get(id)?.details(this.#trail.now());
  }

  routes(): RouteStats[] {
    return this.#requests.routes.all();
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
    }
    return {
      ...this.#requests.perSecond(now),
      kinds: this.#scopes.kinds(now),
      scopes: this.#scopes.oldest(now),
      leaks: this.#leaks.groups(now),
      transactions: this.transactions.tally.counts(),
      ...(pool && { pool }),
    };
  }
}
