import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unchecked } from '../events.js';
import type { Allowed, CheckSettings } from './options.js';

/** A line of code. */
export interface Place {
  /** Below the working directory a path relative to it, with `/`; elsewhere an absolute one. */
  readonly file: string;
  /** From 1 on. */
  readonly line: number;
  /** From 1 on. */
  readonly column: number;
}

/** `src/orders.ts:42:7` */
function textOf({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`;
}

/** `fetch()` alone is twenty calls deep. */
const DEEPEST = 60;
const CALL =
  /^\s*at (?:async )?(?:new )?(?:(.*?) \()?(file:\/\/.+?|\/.+?|[A-Za-z]:[\\/].+?)(?:\?[^:]*)?:(\d+):(\d+)\)?$/;
/** A call that changes files, and one that opens a file for a function that writes it. */
const FILE_FUNCTION =
  /^\s*at (?:\w+\.)?(?:open \(node:(?:internal\/)?fs.*\n\s*at (?:\w+\.)?(writeFile|WriteStream)|(copyFile|rename|rmdir|unlink))\b.* \(node:(?:internal\/)?fs/m;
const DEPENDENCY = /[\\/]node_modules[\\/]/;

/** The folder that has this package and, in a checkout of it, its siblings. */
const PACKAGES = packagesFolder();
const OWN_CODE = /^[^\\/]+[\\/](?:src|dist)[\\/]/;

interface Call {
  /** The function as the stack names it: `OrderRepository.create`. */
  readonly name: string;
  readonly place: Place;
}

/** Found in a stack, because there is no `import.meta` where Jest compiles the packages to CommonJS. */
function packagesFolder(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 1;
  const [, , location = ''] = CALL.exec(new Error('here').stack?.split('\n')[1] ?? '') ?? [];
  Error.stackTraceLimit = stackTraceLimit;
  // Its own file is in a folder of `src` or `dist`.
  return join(dirname(pathOf(location)), '../../..') + sep;
}

function pathOf(location: string): string {
  return location.startsWith('file:') ? fileURLToPath(location) : location;
}

/** The place of the calling code. The text of the stack is computed on demand, because that is the expensive part. */
export class CallStack {
  declare private readonly stack?: unknown;
  #calls: readonly Call[] | undefined;

  constructor() {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = DEEPEST;
    Error.captureStackTrace(this);
    Error.stackTraceLimit = stackTraceLimit;
  }

  /** The nearest line of the application: neither of Node, nor of a dependency, nor of ours. */
  get place(): Place | undefined {
    return this.#applicationCalls[0]?.place;
  }

  /** The nearest lines of the application, the nearest first. */
  get places(): readonly Place[] {
    return this.#applicationCalls.map(({ place }) => place);
  }

  /** The function of `node:fs` that was called, where that is known. */
  get fileFunction(): string | undefined {
    const [, opener, changer] = FILE_FUNCTION.exec(String(this.stack)) ?? [];
    return opener ?? changer;
  }

  /** The names of the functions of the application, the nearest first. */
  get names(): readonly string[] {
    return this.#applicationCalls.map(({ name }) => name);
  }

  /** Node has applied the source maps where it was started with `--enable-source-maps`. */
  get #applicationCalls(): readonly Call[] {
    const { stack } = this;
    this.#calls ??= typeof stack === 'string' ? stack.split('\n').flatMap(applicationCall) : [];
    return this.#calls;
  }
}

function applicationCall(line: string): Call[] {
  const [, name = '', location = '', row, column] = CALL.exec(line) ?? [];
  if (location === '') return [];
  const path = pathOf(location);
  const isOurs = path.startsWith(PACKAGES) && OWN_CODE.test(path.slice(PACKAGES.length));
  if (isOurs || DEPENDENCY.test(path)) return [];
  return [{ name, place: { file: shortened(path), line: Number(row), column: Number(column) } }];
}

function shortened(path: string): string {
  const below = relative(process.cwd(), path);
  return below.startsWith('..') ? path : below.split(sep).join('/');
}

/** An effect that reaches beyond the transaction, so that a rollback does not undo it. */
export type EffectKind = 'http-request' | 'connection-write' | 'file-write' | 'child-process';

/** The kinds of findings of the transaction check. */
export type FindingKind =
  | EffectKind
  | 'outside-statement'
  | 'second-connection'
  | 'gap'
  | 'repeated-statement'
  | 'too-many-statements'
  | 'error-committed'
  | 'error-rolled-back';

/** One rule that one place of the code breaks. */
export interface Finding {
  /** Which rule it breaks. */
  readonly kind: FindingKind;
  /** One line, for a log; of too many statements, a line for each. */
  readonly message: string;
  /** The line of the application's own code; undefined where its stack does not lead there. Of a gap: the statement before it. */
  readonly place: Place | undefined;
  /** The statement, or the COMMIT, after a gap. */
  readonly until: Place | undefined;
  /** The line that began the transaction. */
  readonly begun: Place | undefined;
  /** `POST /api/orders/:id`, or the requested path where the framework does not say the declared one. */
  readonly route: string | undefined;
  /** The key of the service that ran the code, where the container has published which class it is. */
  readonly key: string | undefined;
  /** The statement, without the values that are written into it. */
  readonly sql: string | undefined;
  /** `GET https://api.example.org/prices` without its query, `127.0.0.1:6379`, `fs.writeFile`: what was reached, where that is known. */
  readonly target: string | undefined;
  /** The status of the response with which what was written was committed or rolled back. */
  readonly status: number | undefined;
  /** The number of times that it has happened so far. */
  readonly count: number;
}

export interface Occurrence extends Omit<Finding, 'count' | 'message'> {
  /** The first half of the message. */
  readonly what: string;
  /** Lines below it. */
  readonly list?: readonly string[] | undefined;
}

/** The message says also the place, and on whose behalf the code ran. */
function messageOf({ what, place, until, begun, key, route, list = [] }: Occurrence): string {
  const where = [place && `at ${textOf(place)}`, until && `until ${textOf(until)}`].filter(Boolean).join(' ');
  const known = [key, route].filter((name) => name !== undefined).join(', ');
  const on = known && ` (${known})`;
  const since = begun ? `, in the transaction begun at ${textOf(begun)}` : '';
  const lines = list.map((line) => `\n  ${line}`).join('');
  return `${what}${where && `, ${where}`}${on}${since}${lines} [npx ambit explain AMBIT_TX_CHECK]`;
}

/**
 * The error with which the transaction check refuses what it finds, in the mode `throw`.
 *
 * @example
 * ```ts
 * import { TransactionCheckError } from '@ambit/transaction/check';
 *
 * const linesOf = (error: unknown): (string | undefined)[] =>
 *   error instanceof TransactionCheckError ? error.findings.map(({ place }) => place && `${place.file}:${place.line}`) : [];
 * ```
 */
export class TransactionCheckError extends Error {
  /** Always `TransactionCheckError`. */
  override readonly name = 'TransactionCheckError';
  /** Always `AMBIT_TX_CHECK`. */
  readonly code = 'AMBIT_TX_CHECK';
  /** Invalid transaction state: a COMMIT that is refused with it has stored nothing. */
  readonly sqlState = '25000';
  /** The findings that it refuses; from `assertNone()`, all of them. */
  readonly findings: readonly Finding[];

  /** @param findings - what was found; the message has a line for each */
  constructor(findings: readonly Finding[]) {
    super(findings.map(({ message }) => message).join('\n'));
    this.findings = findings;
  }
}

/** The finding with its present count, each time that it happens. */
const transactionFinding = channel('ambit:transaction:finding');

/** Code has as many places as it has; texts of statements that stand in for a missing place may be without number. */
const MOST_FINDINGS = 1000;

type Counted = Finding & { count: number };

function findingOf(occurrence: Occurrence): Counted {
  const { what: _, list: __, ...others } = occurrence;
  return { ...others, message: messageOf(occurrence), count: 1 };
}

/** The findings so far: each place once, with a count. */
export class Findings {
  readonly #settings: CheckSettings;
  readonly #byPlace = new Map<string, Counted>();

  constructor(settings: CheckSettings) {
    this.#settings = settings;
  }

  get all(): readonly Finding[] {
    return [...this.#byPlace.values()];
  }

  clear(): void {
    this.#byPlace.clear();
  }

  /** True if an option says that it is meant so. */
  allows(occurrence: Occurrence): boolean {
    return this.#settings.allow.some((allowed) => covers(allowed, occurrence));
  }

  /** Counts it, and reports it at the first time. Returns the error to refuse it with, in the mode `throw`. */
  add(occurrence: Occurrence): TransactionCheckError | undefined {
    const finding = this.#count(occurrence);
    if (transactionFinding.hasSubscribers) transactionFinding.publish({ ...finding });
    return this.#settings.mode === 'throw' ? new TransactionCheckError([finding]) : undefined;
  }

  /** The error for what is not counted among the findings, because its caller gets it. */
  refusal(occurrence: Occurrence): TransactionCheckError {
    return new TransactionCheckError([findingOf(occurrence)]);
  }

  #count(occurrence: Occurrence): Counted {
    const { kind, place, until, sql, target, route } = occurrence;
    const identity = [kind, place ? textOf(place) : `${sql} ${target} ${route}`, until && textOf(until)].join(' ');
    const known = this.#byPlace.get(identity);
    if (known) {
      known.count += 1;
      return known;
    }
    const finding = findingOf(occurrence);
    if (this.#byPlace.size >= MOST_FINDINGS) return finding;
    this.#byPlace.set(identity, finding);
    this.#report(finding);
    return finding;
  }

  /** A reporter that fails must not change what the application does, and what it does itself is no finding. */
  #report(finding: Finding): void {
    try {
      unchecked(() => this.#settings.report(finding));
    } catch (error) {
      process.emitWarning(error as Error);
    }
  }
}

function covers({ kind, place, target }: Allowed, occurrence: Occurrence): boolean {
  if (kind !== undefined && kind !== occurrence.kind) return false;
  if (target !== undefined && !occurrence.target?.includes(target)) return false;
  return place === undefined || [occurrence.place, occurrence.until].some((at) => at !== undefined && isAt(at, place));
}

/** `audit.ts`, `src/audit.ts` and `src/audit.ts:12` name what is at src/audit.ts:12:7. */
function isAt(at: Place, wanted: string): boolean {
  return [at.file, `${at.file}:${at.line}`, textOf(at)].some((text) => text === wanted || text.endsWith(`/${wanted}`));
}

const CREATED = 'ambit:instance:created';
/** Its name says nothing of the service. */
const NAMELESS: ReadonlySet<string> = new Set(['', 'Array', 'Function', 'Map', 'Object', 'Promise', 'Set']);

interface Created {
  readonly scope: { resolve(key: unknown): unknown };
  readonly key: unknown;
}

/** The keys of services by the names of their classes, as the container makes them. */
export class ServiceKeys {
  readonly #keys = new Map<string, string>();

  constructor() {
    subscribe(CREATED, this.#learn);
  }

  /** The key of the first of these functions that is a method of a service: `UserRepository.find`. */
  of(functions: readonly string[]): string | undefined {
    for (const name of functions) {
      const key = this.#keys.get(name.slice(0, Math.max(0, name.indexOf('.'))));
      if (key !== undefined) return key;
    }
    return undefined;
  }

  stop(): void {
    unsubscribe(CREATED, this.#learn);
  }

  readonly #learn = (message: unknown): void => {
    const { scope, key } = message as Created;
    try {
      const instance = scope.resolve(key) as object | null | undefined;
      const name = instance?.constructor.name ?? '';
      if (!NAMELESS.has(name) && !this.#keys.has(name)) this.#keys.set(name, labelOf(key));
    } catch {
      // A scope that is being disposed resolves nothing.
    }
  };
}

function labelOf(key: unknown): string {
  if (typeof key === 'function') return key.name;
  return typeof key === 'symbol' ? (key.description ?? 'a symbol') : String(key);
}
