import { AsyncLocalStorage } from 'node:async_hooks';
import { type Channel, channel } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { uncheckedContext } from '../events.js';
import { savepointIn } from '../sql/control-statements.js';
import { withoutLiterals } from '../sql/without-literals.js';
import {
  CallStack,
  type EffectKind,
  type FindingKind,
  type Findings,
  type Occurrence,
  type ServiceKeys,
  type TransactionCheckError,
} from './finding.js';
import type { CheckSettings } from './options.js';
import { type Recorder, Unit } from './recorder.js';
import type { Trail } from './trail.js';

/** A savepoint is no query that a join could replace. */
const SAVEPOINT = /^\s*(?:savepoint|release|rollback)\b/i;

/** One line without the values that are written into it, so that it is the same text for each of them. */
function shown(sql: string): string {
  return withoutLiterals(sql, { text: '?', number: '?' }).replaceAll(/\s+/g, ' ').trim();
}

interface Counted {
  times: number;
  /** The place where it ran first. */
  readonly stack: CallStack;
}

/** The number of times that each statement ran. */
export class Tally {
  readonly #statements = new Map<string, Counted>();
  /** The number of all that ran. */
  total = 0;

  /** Returns how often it has run now. */
  add(sql: string, stack: CallStack): number {
    if (SAVEPOINT.test(sql)) return 0;
    const text = shown(sql);
    const counted = this.#statements.get(text) ?? { times: 0, stack };
    this.#statements.set(text, counted);
    this.total += 1;
    return (counted.times += 1);
  }

  /** A statement that was rolled back may run again, as a retry. */
  subtract(other: Tally): void {
    for (const [text, { times }] of other.#statements) {
      const counted = this.#statements.get(text);
      if (counted) counted.times -= times;
      this.total -= times;
    }
  }

  /** The most frequent first, which may be an N+1. */
  get mostFrequent(): readonly (Counted & { readonly text: string })[] {
    const all = Array.from(this.#statements, ([text, counted]) => ({ text, ...counted }));
    return all.filter(({ times }) => times > 0).toSorted((one, other) => other.times - one.times);
  }
}

/** Some frameworks do not say the declared route: then `/orders/7` is `/orders/:id`. */
function budgetOf(route: string, budgets: Readonly<Record<string, number>>): number {
  const parts = route.split('/');
  const own = Object.keys(budgets).find((declared) => {
    const wanted = declared.split('/');
    return wanted.length === parts.length && wanted.every((part, i) => part === parts[i] || part.startsWith(':'));
  });
  return budgets[route] ?? budgets[own ?? '*'] ?? Infinity;
}

/** In one line without values and comments. Not: `FOR UPDATE`, `DO UPDATE`, `ON DUPLICATE KEY UPDATE`, `THEN INSERT`. */
const WRITE =
  /(?<!\b(?:for|do|key|then) )\b(insert|update|delete|merge|replace) (?:(?:or \w+|ignore|low_priority|into|from|only) )*("[^"]+"|`[^`]+`|[\w.$]+)/gi;
const WRITES = /^(?:with|insert|update|delete|merge|replace)\b/i;
const PREPOSITIONS: Readonly<Record<string, string>> = { INSERT: 'into', UPDATE: 'of', DELETE: 'from', MERGE: 'into' };

interface Write {
  /** `INSERT into orders`; of a WITH there may be several. */
  readonly what: string;
  readonly sql: string;
  readonly stack: CallStack;
}

/** The client was refused, and not its work: what was written may be the count of its attempts. */
const REFUSES_CLIENT: ReadonlySet<number> = new Set([401, 403, 423, 429]);

/** A statement that succeeded, and its rows or its result. */
interface Ran {
  readonly sql: string;
  readonly stack: CallStack;
  readonly given: unknown;
}

/** Nothing where it found no row to write, as far as its result says so. */
function writeOf({ sql, stack, given }: Ran): Write | undefined {
  const text = shown(sql);
  const { rowCount } = Object(given) as { readonly rowCount?: unknown };
  const isEmpty = Array.isArray(given) && given.length === 0 && /^(?!with\b).*\breturning\b/i.test(text);
  if (!WRITES.test(text) || rowCount === 0 || isEmpty) return undefined;
  const writes = Array.from(text.matchAll(WRITE), ([, verb = '', table = '']) => {
    const command = verb.toUpperCase();
    return `${command} ${PREPOSITIONS[command] ?? 'into'} ${table}`;
  });
  return writes.length > 0 ? { what: writes.join(', '), sql, stack } : undefined;
}

/** A connection from the request for it until its release, and the transaction that is open on it. */
export class Hold {
  /** The place that asked for it. */
  readonly begun: CallStack;
  request: RequestUnit | undefined;
  readonly tally = new Tally();
  /** Findings that could not be refused: COMMIT is refused instead. */
  readonly failures: TransactionCheckError[] = [];
  /** The requests of `node:http` that were found in its transaction. */
  readonly requests: ClientRequest[] = [];
  readonly writes: Write[] = [];
  /** The tables whose rows its transaction has locked. SQLite locks the whole database at once. */
  locked: Set<string> | undefined = undefined;
  /** The status of the response, once it is known. */
  status: number | undefined = undefined;
  isRolledBack = false;
  last: CallStack;
  /** A transaction is open on it: BEGIN has succeeded, neither COMMIT nor ROLLBACK was asked for. */
  isOpen = false;
  /** True once the connection was released, or where it was never given. */
  isOver = false;
  /** Statements in progress. */
  #running = 0;
  /** The number of writes before each savepoint was set. */
  readonly #savepoints = new Map<string, number>();
  #quietSince = 0;

  constructor(begun: CallStack, request: RequestUnit | undefined) {
    this.request = request;
    this.begun = begun;
    this.last = begun;
  }

  open(now: number, locksRows: boolean): void {
    this.isOpen = true;
    this.locked = locksRows ? new Set() : undefined;
    this.#quietSince = now;
  }

  close(): void {
    this.isOpen = false;
  }

  /** A statement that was rolled back may run again, as a retry. */
  rolledBack(): void {
    this.isRolledBack = true;
    this.request?.tally.subtract(this.tally);
  }

  release(): void {
    this.isOpen = false;
    this.isOver = true;
  }

  /** The milliseconds for which no statement has run. */
  quietFor(now: number): number {
    return this.isOpen && this.#running === 0 ? now - this.#quietSince : 0;
  }

  statementStarts(at: CallStack): void {
    this.last = at;
    this.#running += 1;
  }

  ran(statement: Ran): void {
    const savepoint = savepointIn(statement.sql);
    const write = savepoint ? undefined : writeOf(statement);
    if (write) this.writes.push(write);
    if (!savepoint) return;
    if (savepoint.does === 'set') this.#savepoints.set(savepoint.name, this.writes.length);
    if (savepoint.does === 'undo') this.writes.splice(this.#savepoints.get(savepoint.name) ?? Infinity);
  }

  statementSettles(now: number): void {
    this.#running -= 1;
    this.#quietSince = now;
  }
}

interface Parts {
  readonly kind: FindingKind;
  readonly what: string;
  /** Default: where it is found. */
  readonly stack?: CallStack | undefined;
  readonly hold?: Hold | undefined;
  readonly until?: CallStack;
  readonly sql?: string | undefined;
  readonly target?: string | undefined;
  readonly status?: number | undefined;
  readonly list?: readonly string[];
}

type Refusal = TransactionCheckError | undefined;

/** The rules of the check. Each method returns the error to refuse it with, where there is one. */
export class Rules {
  readonly #settings: CheckSettings;
  readonly #contexts: Contexts;
  readonly #keys: ServiceKeys;
  readonly #findings: Findings;
  readonly #trail: Trail;
  readonly #recorder: Recorder | undefined;
  readonly #counts = new Set<Tally>();
  /** The last connection that a transaction was begun on in a scope. */
  readonly #lastIn = new WeakMap<object, Hold>();

  constructor(
    settings: CheckSettings,
    contexts: Contexts,
    keys: ServiceKeys,
    findings: Findings,
    trail: Trail,
    recorder: Recorder | undefined,
  ) {
    this.#recorder = recorder;
    this.#settings = settings;
    this.#contexts = contexts;
    this.#keys = keys;
    this.#findings = findings;
    this.#trail = trail;
  }

  /** A connection is asked for; from now on the context holds it, unless that is refused. */
  acquire(): Hold | TransactionCheckError {
    const stack = new CallStack();
    const held = this.#contexts.openHold;
    const refusal = held && this.#find({ kind: 'second-connection', what: SECOND, stack, hold: held });
    if (refusal) return refusal;
    const hold = new Hold(stack, this.#contexts.current?.request);
    this.#contexts.enter(hold);
    return hold;
  }

  statementOnPool(sql: string): Refusal {
    const hold = this.#contexts.openHold;
    const stack = new CallStack();
    const refusal = hold && this.#outside('the pool', sql, hold);
    return refusal ?? this.#counted(sql, { stack });
  }

  statement(hold: Hold, sql: string, stack: CallStack): Refusal {
    const held = this.#contexts.openHold;
    if (held !== hold && !(hold.isOpen && this.#contexts.isIn(hold))) {
      if (held) return this.#outside('another connection', sql, held);
      // A function that was called has begun the transaction, and its caller goes on in it.
      if (hold.isOpen) this.#contexts.enter(hold);
    }
    this.quiet(hold, stack);
    return this.#counted(sql, { stack, hold });
  }

  /** Called before the statement, the COMMIT or the ROLLBACK that follows a gap. */
  quiet(hold: Hold, until?: CallStack): void {
    const ms = hold.quietFor(this.#settings.clock.now());
    if (ms <= this.#settings.gapMs) return;
    const what = `A transaction was open for ${Math.round(ms)} ms without a statement`;
    const refusal = this.#find({ kind: 'gap', what, stack: hold.last, until: until ?? new CallStack(), hold });
    if (refusal) hold.failures.push(refusal);
  }

  ran(hold: Hold, statement: Ran): void {
    if (hold.isOpen && !this.#contexts.isUnchecked) hold.ran(statement);
  }

  /** A transaction of this scope has its connection, which is that of the context. */
  acquiredIn(scope: object): void {
    const hold = this.#contexts.current?.hold;
    if (hold) this.#lastIn.set(scope, hold);
  }

  /** The status of the response is known to the request of this scope: before its COMMIT, or after its rollback. */
  responded(scope: object, status: number): void {
    const hold = this.#lastIn.get(scope);
    if (!hold) return;
    hold.status = status;
    if (!hold.isRolledBack) return;
    this.#lastIn.delete(scope);
    if (REFUSES_CLIENT.has(status)) this.#written(hold, 'error-rolled-back', `${status} rolled back`);
  }

  committing(hold: Hold): void {
    const { status = 200 } = hold;
    if (status >= 400 && status < 500 && !REFUSES_CLIENT.has(status))
      hold.failures.push(...this.#written(hold, 'error-committed', `${status} committed`));
  }

  /** The writes, with the line of each. */
  #written(hold: Hold, kind: FindingKind, decided: string): TransactionCheckError[] {
    const lines = new Map<string, Write & { times: number }>();
    for (const write of hold.writes) {
      const line = `${write.what} ${JSON.stringify(write.stack.place)}`;
      lines.set(line, { ...write, times: (lines.get(line)?.times ?? 0) + 1 });
    }
    return [...lines.values()].flatMap(({ times, what, sql, stack }) => {
      const counted = `${times} ${times === 1 ? what : what.replace(' ', 's ')}`;
      return this.#find({ kind, what: `${decided} ${counted}`, stack, hold, sql, status: hold.status }) ?? [];
    });
  }

  /** The code of an open transaction reaches what a rollback does not undo. */
  reached(kind: EffectKind, target?: string): Refusal {
    const hold = this.#contexts.openHold;
    const what = `${EFFECTS[kind]} while a transaction was open${target === undefined ? '' : `, ${target}`}`;
    return hold && this.#find({ kind, what, hold, target });
  }

  /** It has done so already: COMMIT is refused. */
  hasReached(kind: EffectKind, target?: string): void {
    const refusal = this.reached(kind, target);
    if (refusal) this.#contexts.openHold?.failures.push(refusal);
  }

  #outside(where: string, sql: string, hold: Hold): Refusal {
    const what = `A statement ran on ${where} while a transaction was open, ${shown(sql)}`;
    return this.#find({ kind: 'outside-statement', what, hold, sql });
  }

  /** Counts the statements that run during the work. Rejects, with each by its text, where they are more than that. */
  async expectStatements<T>(most: number, work: () => T | PromiseLike<T>): Promise<T> {
    const tally = new Tally();
    this.#counts.add(tally);
    try {
      const result = await work();
      if (tally.total <= most) return result;
    } finally {
      this.#counts.delete(tally);
    }
    throw this.#findings.refusal(this.#occurrence(tooMany(tally, 'one piece of work', most)));
  }

  #counted(sql: string, at: { readonly stack: CallStack; readonly hold?: Hold }): Refusal {
    const { hold, stack } = at;
    // Fastify begins a transaction in a hook, before its route is known.
    const request = hold?.request ?? this.#contexts.current?.request;
    if (hold) hold.request = request;
    const inRequest = request?.tally.add(sql, stack) ?? 0;
    const inTransaction = hold?.tally.add(sql, stack) ?? 0;
    for (const tally of this.#counts) tally.add(sql, stack);
    const times = Math.max(inRequest, inTransaction);
    if (times > 0) this.#recorder?.statement(sql, stack, { request, hold, times });
    if (times > this.#settings.repeats) {
      const unit = inTransaction === times ? 'transaction' : 'request';
      const what = `The same statement ran ${times} times in one ${unit}, ${shown(sql)}`;
      return this.#find({ kind: 'repeated-statement', what, sql, ...at });
    }
    const most = request ? budgetOf(request.route, this.#settings.budgets) : Infinity;
    return request && request.tally.total > most ? this.#find(tooMany(request.tally, 'one request', most)) : undefined;
  }

  #find(parts: Parts): Refusal {
    if (this.#contexts.isUnchecked) return undefined;
    const occurrence = this.#occurrence(parts);
    if (this.#findings.allows(occurrence)) return undefined;
    const { hold } = parts;
    this.#recorder?.found(occurrence, this.#contexts.current?.request ?? hold?.request, hold);
    return this.#settings.enabled ? this.#findings.add(occurrence) : undefined;
  }

  #occurrence({ kind, what, stack = this.#trail.stack(), hold, until, sql, target, status, list }: Parts): Occurrence {
    return {
      kind,
      what,
      place: stack.place,
      until: until?.place,
      begun: hold?.begun.place,
      route: (this.#contexts.current?.request ?? hold?.request)?.route,
      key: this.#keys.of(stack.names),
      sql: sql === undefined ? undefined : shown(sql),
      target,
      status,
      list,
    };
  }
}

/** At the line of the most frequent one. */
function tooMany(tally: Tally, unit: string, most: number): Parts {
  const list = tally.mostFrequent.map(({ times, text, stack }) => {
    const { file, line, column } = stack.place ?? {};
    return `${times} x ${text}${file === undefined ? '' : `, at ${file}:${line}:${column}`}`;
  });
  const [first] = tally.mostFrequent;
  const what = `${tally.total} statements ran in ${unit}, more than ${most}`;
  return { kind: 'too-many-statements', what, stack: first?.stack, sql: first?.text, list };
}

const EFFECTS: Readonly<Record<EffectKind, string>> = {
  'http-request': 'An HTTP request was sent',
  'connection-write': 'Data was sent',
  'file-write': 'A file was written',
  'child-process': 'A child process was started',
};

const SECOND = 'A second connection was asked for while a transaction was open on the first';

/** The members of a request that name it in a finding: the first two are Node's, the others Express's. */
export interface ServerRequest {
  readonly method?: string;
  readonly url?: string;
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly route?: { readonly path?: unknown };
}

export class RequestUnit {
  readonly tally = new Tally();
  readonly unit = new Unit();
  /** The route as a framework has declared it, once it says so. */
  declared: string | undefined;
  /** Nothing tells more about it: its response was sent, or nobody says when that is. */
  isOver: boolean;
  readonly #raw: ServerRequest;
  #declared: string | undefined = undefined;

  constructor(raw: ServerRequest, isOver: boolean) {
    this.#raw = raw;
    this.isOver = isOver;
  }

  isOf(raw: object): boolean {
    return this.#raw === raw;
  }

  get route(): string {
    const { method = '', url = '', originalUrl = url, baseUrl = '', route } = this.#raw;
    const requested = originalUrl.replace(/[?#][^]*/, '');
    // The path of a mounted router's own root.
    const declared = route?.path === '/' && baseUrl !== '' ? baseUrl : baseUrl + String(route?.path);
    if (this.declared === undefined && typeof route?.path !== 'string') return `${method} ${requested}`;
    return (this.#declared = `${method} ${this.declared ?? declared}`);
  }

  /** Express forgets where a router is mounted when an error leaves it. */
  get lastRoute(): string {
    return this.#declared ?? this.route;
  }
}

/** The request, the transaction and the exceptions of an asynchronous context. */
export interface Frame {
  readonly request?: RequestUnit | undefined;
  readonly isUnchecked?: boolean | undefined;
  /** A checked pool runs there. */
  readonly isDriver?: boolean | undefined;
  readonly hold?: Hold | undefined;
  /** The context in which this one was made. */
  readonly outer?: Frame | undefined;
}

const transactionContext = channel('ambit:transaction:context');

/**
 * Which request and which connections the running code belongs to. A connection belongs to the asynchronous context of its
 * request: to the code that follows there, and to what that calls.
 */
export class Contexts {
  readonly #storage = new AsyncLocalStorage<Frame>();
  readonly #bound: Channel[] = [];
  #isStopped = false;

  constructor() {
    // Node 20 follows promises from the first use on: what waits for an older one would go on in the context in which that is resolved.
    this.#storage.run({}, () => undefined);
    // A frame of its own: a context that is entered below it does not reach the caller of what is below.
    this.bind(transactionContext, () => ({ ...this.current }));
    this.bind(uncheckedContext, () => ({ ...this.current, isUnchecked: true }));
  }

  get current(): Frame | undefined {
    return this.#storage.getStore();
  }

  get isUnchecked(): boolean {
    return this.#isStopped || this.current?.isUnchecked === true;
  }

  /** The connection of the innermost open transaction. */
  get openHold(): Hold | undefined {
    for (let at = this.current; at; at = at.outer) if (at.hold?.isOpen) return at.hold;
    return undefined;
  }

  isIn(hold: Hold): boolean {
    for (let at = this.current; at; at = at.outer) if (at.hold === hold) return true;
    return false;
  }

  /** Notes that the code of this context holds the connection. */
  enter(hold: Hold): void {
    // It would enable the storage again.
    if (this.#isStopped) return;
    const { request, isUnchecked } = this.current ?? {};
    this.#storage.enterWith({ request, isUnchecked, hold, outer: this.#outer() });
  }

  /** Notes that the code belongs to this request, and to nothing that came before it on the connection. */
  enterRequest(request: RequestUnit): void {
    this.#storage.enterWith({ request });
  }

  /** The open transaction whose own code runs: neither its pool nor what is unchecked. */
  get watched(): Hold | undefined {
    return this.isUnchecked || this.current?.isDriver ? undefined : this.openHold;
  }

  /** Notes that a checked pool runs, until `leave()`. A function around its call would push a line of the application out of stacks. */
  enterDriver(): Frame | undefined {
    const around = this.current;
    if (!this.#isStopped) this.#storage.enterWith({ ...around, isDriver: true });
    return around;
  }

  /** The caller waits for the result of a checked pool in the frame around its call. */
  leave<T>(around: Frame | undefined, returned: T): T {
    if (!this.#isStopped) this.#storage.enterWith(around as Frame);
    return returned;
  }

  /** Code that runs the stores of the channel runs its function in this frame. */
  bind<T>(to: Channel, frame: (message: T) => Frame): void {
    to.bindStore(this.#storage, frame as (message: unknown) => Frame);
    this.#bound.push(to);
  }

  stop(): void {
    this.#isStopped = true;
    for (const bound of this.#bound.splice(0)) bound.unbindStore(this.#storage);
    this.#storage.disable();
  }

  /** Without what is over: a loop over a thousand transactions keeps one. */
  #outer(): Frame | undefined {
    let at = this.current;
    while (at && (!at.hold || at.hold.isOver)) at = at.outer;
    return at;
  }
}
