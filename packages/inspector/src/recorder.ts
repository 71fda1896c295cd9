import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Container, ContainerError, type Key } from '@ambit/container';
import { withoutLiterals } from '@ambit/transaction/host';
import { boxBelow, boxOf, errorName, failure, label, lineageOf } from './names.js';
import { LeakGroups, newEntry, OpenScopes, type ScopeEntry } from './open-scopes.js';
import {
  type Arrival,
  RequestList,
  type RequestListOptions,
  type RequestRecord,
  type StepDetails,
} from './requests.js';
import { ServiceCounts, StatementTable } from './tables.js';
import { Where } from './where.js';
import type {
  Line,
  Now,
  Outcome,
  RequestDetails,
  RouteStats,
  StartUp,
  StartUpService,
  StepKind,
  Tick,
} from './wire.js';

/** Records which services are created and disposed, and which failed to be. */
export class CreationRecorder {
  readonly counts = new ServiceCounts();
  readonly #trail: Trail;
  /** The error that was published last, and the keys that it has passed. */
  #failing: { readonly error: unknown; readonly path: string[] } | undefined;

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  created(scope: object, key: Key, milliseconds: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    const name = label(key);
    const service = this.counts.created(entry.box, name, milliseconds);
    if (service) entry.services.push(service);
    this.#trail.step(entry, 'created', { key: name, took: milliseconds });
  }

  /** Its scope does not keep it, so nobody knows how long it is alive. */
  transientCreated(scope: object, key: Key, milliseconds: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    const name = label(key);
    this.counts.transientCreated(entry.box, name, milliseconds);
    this.#trail.step(entry, 'created', { key: name, took: milliseconds });
  }

  /** Called for each service that the error passes, the one that threw first: all of them are one step. */
  failed(scope: object, key: Key, error: unknown): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    const name = label(key);
    const last = this.#failing;
    const known = last && last.error === error ? last.path : undefined;
    // A service may throw the same error object again.
    if (known && known.at(-1) !== name) {
      // The container's own errors have the whole path already.
      if (!known.includes(name)) known.unshift(name);
      return;
    }
    const path = error instanceof ContainerError && error.path.length > 0 ? error.path.map(label) : [name];
    this.#failing = { error, path };
    this.#trail.step(entry, 'failed', { key: path.at(-1) ?? name, path, error: errorName(error) });
  }

  disposed(scope: object, key: Key, error: unknown): void {
    const entry = this.#trail.entryOf(scope);
    if (entry) this.#trail.step(entry, 'disposed', { key: label(key), ...failure(error) });
  }
}

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

export interface CompletedStatement {
  readonly sql: string;
  readonly milliseconds: number;
  readonly error?: unknown;
  /** The message that announced the call. */
  readonly statement?: object;
}

/** Records each statement, where the code sent it, and how long it took. */
export class StatementRecorder {
  readonly table = new StatementTable();
  readonly #trail: Trail;
  readonly #places = new WeakMap<object, Where>();

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  /** Called within the call that sends the statement. */
  sent(statement: object): void {
    this.#places.set(statement, new Where());
  }

  inTransaction(scope: object, completed: CompletedStatement): void {
    if (this.#trail.entryOf(scope)) this.#add(scope, completed, {});
  }

  outside(completed: CompletedStatement): void {
    this.#add(undefined, completed, { outside: true });
  }

  #add(scope: object | undefined, completed: CompletedStatement, more: { readonly outside?: true }): void {
    const { sql, milliseconds: took, error, statement } = completed;
    const text = withoutValues(sql);
    const place = statement && this.#places.get(statement);
    const entry = scope && this.#trail.entryOf(scope);
    const request = this.#trail.step(entry, 'statement', { sql: text, took, ...more, ...failure(error), place });
    this.table.add({ sql: text, took, failed: error !== undefined, place, route: request?.name, ...more });
  }
}

export interface TrailOptions {
  /** Milliseconds that only go up. */
  readonly now: () => number;
  /** The request on whose behalf this code runs. */
  readonly current: () => RequestRecord | undefined;
}

/** Knows what is recorded of an open scope, and adds steps to the request that it belongs to. */
export class Trail {
  readonly now: () => number;
  readonly current: () => RequestRecord | undefined;
  readonly #requests: RequestList;
  readonly #entries = new WeakMap<object, ScopeEntry>();

  constructor({ now, current }: TrailOptions, requests: RequestList) {
    this.now = now;
    this.current = current;
    this.#requests = requests;
  }

  entryOf(scope: object): ScopeEntry | undefined {
    return this.#entries.get(scope);
  }

  add(scope: object, entry: ScopeEntry): void {
    this.#entries.set(scope, entry);
    this.#requests.touch(entry.request);
  }

  remove(scope: object): void {
    this.#entries.delete(scope);
  }

  /** Adds a step in a scope; without a scope, or one that belongs to no request, to the request on whose behalf the code runs. */
  step(entry: ScopeEntry | undefined, kind: StepKind, details: Omit<StepDetails, 'span'>): RequestRecord | undefined {
    const request = entry?.request ?? this.current();
    const span = entry?.request ? entry.span : undefined;
    request?.step(kind, this.now(), span === undefined ? details : { ...details, span });
    this.#requests.touch(request);
    return request;
  }
}

/** The step with which a transaction completes. */
const FINAL_STEP: Record<Exclude<Outcome, 'refused'>, StepKind> = {
  committed: 'commit',
  'rolled back': 'rollback',
  unknown: 'commit unknown',
};

/** How many transactions are open, and how many had which outcome. */
class TransactionTally {
  readonly #counts: Record<'open' | Outcome, number> = {
    open: 0,
    committed: 0,
    refused: 0,
    'rolled back': 0,
    unknown: 0,
  };

  refused({ request }: ScopeEntry): void {
    this.#counts.refused++;
    request?.transactionFinished('refused');
  }

  begun(entry: ScopeEntry): void {
    entry.inTransaction = true;
    this.#counts.open++;
  }

  finished(entry: ScopeEntry, outcome: Outcome): void {
    this.scopeClosed(entry);
    this.#counts[outcome]++;
    entry.request?.transactionFinished(outcome);
  }

  /** No longer open, with or without a known outcome. */
  scopeClosed(entry: ScopeEntry): void {
    if (entry.inTransaction) this.#counts.open--;
    entry.inTransaction = false;
  }

  counts(): Now['transactions'] {
    return { ...this.#counts };
  }
}

/** Records the transactions, from the wait for a connection to COMMIT or ROLLBACK. */
export class TransactionRecorder {
  readonly tally = new TransactionTally();
  readonly #trail: Trail;

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  refused(parent: object, took: number, error: unknown): void {
    const entry = this.#trail.entryOf(parent);
    if (!entry) return;
    this.tally.refused(entry);
    this.#trail.step(entry, 'no connection', { took, ...failure(error) });
  }

  acquired(scope: object, took: number): void {
    const entry = this.#trail.entryOf(scope);
    if (entry) this.#trail.step(entry, 'connection', { took });
  }

  begun(scope: object, took: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    this.tally.begun(entry);
    this.#trail.step(entry, 'begin', { took });
  }

  finished(scope: object, outcome: Exclude<Outcome, 'refused'>, took: number, error: unknown): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    this.tally.finished(entry, outcome);
    this.#trail.step(entry, FINAL_STEP[outcome], { took, ...failure(error) });
  }
}

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

  /** The changes since the last call. */
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

interface Created {
  readonly scope: Container;
  readonly key: Key;
  readonly milliseconds: number;
}

const CREATED = 'ambit:instance:created';
const MOST = 2000;

/** The instances that the application creates before its first request: that is when pools connect, and files are read. */
export class StartUpRecorder {
  readonly #application: Container;
  readonly #services: StartUpService[] = [];
  /** `performance.now()` counts from the start of the process. */
  readonly #inspected = performance.now();
  #firstRequest: number | undefined;
  readonly #receive = (message: unknown): void => this.#created(message as Created);

  constructor(application: Container) {
    this.#application = application;
    subscribe(CREATED, this.#receive);
  }

  /** The first request has arrived. */
  finish(): void {
    if (this.#firstRequest !== undefined) return;
    this.#firstRequest = performance.now();
    unsubscribe(CREATED, this.#receive);
  }

  state(): StartUp {
    return {
      inspected: this.#inspected,
      ...(this.#firstRequest !== undefined && { firstRequest: this.#firstRequest }),
      services: this.#services,
    };
  }

  #created({ scope, key, milliseconds }: Created): void {
    const isOurs = scope === this.#application || scope.parent === this.#application;
    if (!isOurs || this.#services.length >= MOST) return;
    this.#services.push({
      box: boxOf(lineageOf(scope)),
      key: label(key),
      at: performance.now(),
      took: milliseconds,
    });
  }
}

const LONGEST_SQL = 2000;

/** The text of a statement, on one line, without literals and comments. */
export function withoutValues(sql: string): string {
  const text = withoutLiterals(sql.slice(0, 4 * LONGEST_SQL), { text: "'…'", number: '?' })
    .replaceAll(/\s+/g, ' ')
    .trim();
  return text.length > LONGEST_SQL ? `${text.slice(0, LONGEST_SQL)}…` : text;
}
