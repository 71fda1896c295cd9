import { inspect } from '#platform';
import type { Key } from './keys.js';

/** The tags of a scope and of those around it, the outermost first. */
export type Lineage = readonly (readonly string[])[];

/** A key in a sentence: `'IUsers'`, `class Users`, `Symbol(users)`; other things as they are. */
export const show = (key: unknown): string =>
  typeof key === 'string'
    ? `'${key}'`
    : typeof key === 'function' && key.prototype
      ? `class ${label(key as never)}`
      : inspect(key, { depth: -1 });

/** A key in a drawing, without quotes. */
export const label = (key: Key): string =>
  typeof key === 'function' ? key.name || '(anonymous)' : String(key) || "''";

/** The words of an error, or whatever else was thrown. */
const words = (error: unknown): string => (error instanceof Error ? String(error) : inspect(error));

/** Hints of packages such as `@ambit/transaction` for their keys: constant texts, shared by all copies of this package. */
const HINTS = Symbol.for('@ambit/hints');
type Hints = ReadonlyMap<unknown, Readonly<Record<string, string>>>;

/** The hint for a key and a call, such as `resolve`, `resolve disposed` for a scope that is disposed, or `verify`. */
export const hintOf = (key: unknown, call: string): string | undefined =>
  (globalThis as { [HINTS]?: Hints })[HINTS]?.get(key)?.[call];

// Longer lists are shortened: thousands of nested scopes, or of failures, would make an error of megabytes.
const MOST_LEVELS = 8;
const MOST_KEYS = 30;
const MOST_FAILURES = 10;

/** The list in a line. A longer one is shortened to its first and last entries. */
function shortened<T>(list: readonly T[], word: (one: T) => string, between: string, most: number): string {
  const shown = list.length > most ? [...list.slice(0, most / 2), ...list.slice(-most / 2)].map(word) : list.map(word);
  if (list.length > most) shown.splice(most / 2, 0, `... ${list.length - most} more ...`);
  return shown.join(between);
}

/** `[application] > [request]`; of more than eight levels the outermost and the innermost four. */
export const showTags = (lineage: Lineage): string =>
  shortened(lineage, (tags) => `[${tags.join(', ') || 'no tags'}]`, ' > ', MOST_LEVELS);

/** Codes and their sentences; `%` is what it is about, the key unless said otherwise. */
const sentences = {
  AMBIT_NOT_REGISTERED: 'Nothing is registered under %',
  AMBIT_OUT_OF_SCOPE: '% is registered, but not for this scope',
  AMBIT_CAPTIVE_DEPENDENCY: 'Captive dependency: %',
  AMBIT_CYCLE: 'Circular dependency: %',
  AMBIT_TOO_DEEP: '% has too long a chain of dependencies',
  AMBIT_NO_KEY_FOR_PARAMETER: '% has no key',
  AMBIT_DISPOSED: '% was called on a disposed scope',
  AMBIT_DISPOSE_FAILED: 'Some instances failed to dispose; all others are disposed. The errors are in .failures:%',
  AMBIT_START_FAILED: '% failed to start',
  AMBIT_NO_SCOPE: 'There is no current scope',
};

/** Codes whose whole sentence comes with the error. */
type OtherCode =
  | 'AMBIT_BAD_REGISTRATION'
  | 'AMBIT_OPTION'
  | 'AMBIT_INVALID'
  | 'AMBIT_UNREACHABLE'
  | 'AMBIT_UNDISPOSED'
  | 'AMBIT_SPLIT_KEY'
  | 'AMBIT_LATE_OVERRIDE'
  | 'AMBIT_DRAINING'
  | 'AMBIT_DRAIN_TIMEOUT';

/** The stable codes of {@link ContainerError} and {@link DisposeError}. */
export type ErrorCode = keyof typeof sentences | OtherCode;

/** The details of an error. Which fields are there depends on its code. */
export interface ErrorDetails {
  readonly key?: Key | undefined;
  readonly about?: string;
  /** The path of dependencies, from the key that was resolved to the one that failed. */
  readonly path?: readonly Key[];
  readonly tags?: Lineage;
  readonly hint?: string;
  readonly problems?: readonly ContainerError[];
  readonly cause?: unknown;
}

/** The sentence of the code, the lines below it, and where to read more. */
const worded = (code: ErrorCode, about: string, ...lines: string[]): string =>
  [sentenceOf(code).replace('%', () => about), ...lines, `  [npx ambit explain ${code}]`].join('\n');
const sentenceOf = (code: ErrorCode): string => (sentences as Partial<Record<ErrorCode, string>>)[code] ?? '%';

const arrows = (keys: readonly Key[]): string => shortened(keys, label, ' -> ', MOST_KEYS);

function message(code: ErrorCode, { key, about, path = [], tags, hint, problems = [], cause }: ErrorDetails): string {
  const cycle = code === 'AMBIT_CYCLE' ? path.slice(path.indexOf(key as Key)) : [];
  const lines = {
    path: path[1] && path.length > cycle.length && arrows(path),
    scope: tags && showTags(tags),
    cause: code === 'AMBIT_START_FAILED' && words(cause),
    hint,
  };
  return worded(
    code,
    cycle[0] === undefined ? (about ?? show(key)) : arrows(cycle),
    ...Object.entries(lines).flatMap(([name, line]) => (line ? `  ${name.padEnd(6)}${line}` : [])),
    ...problems.map((problem, i) => `\n${i + 1}. ${problem.message.replaceAll('\n', '\n   ')}`),
  );
}

/**
 * An error of the container: a stable code, and a message that says what happened, where, and how to fix it.
 *
 * @example
 * ```ts
 * const app = new Container({ tags: ['application'] });
 * try {
 *   app.resolve('IUsers');
 * } catch (error) {
 *   if (!(error instanceof ContainerError)) throw error;
 *   console.error(error.code, error.path, error.hint); // AMBIT_NOT_REGISTERED [ 'IUsers' ] add a registration ...
 * }
 * ```
 */
export class ContainerError extends Error {
  /** Tells it from other errors where `instanceof` cannot, as between two copies of this package. */
  override readonly name = 'ContainerError';
  /** The key of the service that the error is about, if it is about one. */
  declare readonly key: Key | undefined;
  /** The path of dependencies, from the key that was resolved to the one that failed. Empty where there is none. */
  declare readonly path: readonly Key[];
  /** The tags of the scope and of those around it, the outermost first. Empty where no scope is involved. */
  declare readonly tags: Lineage;
  /** The likely fix; it is also part of the message. */
  declare readonly hint: string | undefined;
  /** For `AMBIT_INVALID`, everything that `verify` found; otherwise empty. */
  declare readonly problems: readonly ContainerError[];

  /**
   * Words the message from the code and its details.
   *
   * @param code - what happened. It does not change between releases, so compare this and not the message
   * @param details - what it is about; the fields of the error and the message are made of it
   */
  constructor(
    readonly code: ErrorCode,
    details: ErrorDetails,
  ) {
    super(message(code, details), details);
    const { key, path = [], tags = [], hint, problems = [] } = details;
    Object.assign(this, { key, path, tags, hint });
    // The message has them all; Node would print each of them again, with its stack.
    Object.defineProperty(this, 'problems', { value: problems });
  }
}

/** One instance that failed to dispose. */
export interface Failure {
  /** The key of the instance. */
  readonly key: Key;
  /** The tags of the scope that kept the instance and of those around it, the outermost first. */
  readonly tags: Lineage;
  /** The error that its disposer threw, or rejected with. */
  readonly error: unknown;
}

/**
 * The rejection of `dispose()`: `errors` are those the instances threw, in the order in which they were disposed.
 *
 * @example
 * ```ts
 * const app = new Container({ tags: ['application'] });
 * try {
 *   await app.dispose();
 * } catch (error) {
 *   if (!(error instanceof DisposeError)) throw error;
 *   for (const { key, error: reason } of error.failures) console.error('failed to dispose', key, reason);
 * }
 * ```
 */
export class DisposeError extends AggregateError {
  /** Tells it from other errors where `instanceof` cannot, as between two copies of this package. */
  override readonly name = 'DisposeError';
  /** Every error of this class has this code. */
  readonly code = 'AMBIT_DISPOSE_FAILED' satisfies ErrorCode;

  /**
   * Words the message from the first ten failures.
   *
   * @param failures - each instance that failed to dispose, in the order in which they were disposed
   */
  constructor(readonly failures: readonly Failure[]) {
    const each = failures
      .slice(0, MOST_FAILURES)
      .map(({ key, tags, error }) => `\n  ${show(key)} in ${showTags(tags)}: ${words(error)}`);
    if (failures.length > MOST_FAILURES) each.push(`\n  ... and ${failures.length - MOST_FAILURES} more`);
    super(
      failures.map(({ error }) => error),
      worded('AMBIT_DISPOSE_FAILED', each.join('')),
    );
  }
}

export function refuse(about: string, hint: string, key?: Key): never {
  throw new ContainerError('AMBIT_BAD_REGISTRATION', { about, hint, key });
}

export function checkFunction(value: unknown, where: string, wanted: string, key?: Key): void {
  if (typeof value !== 'function') refuse(`${where} got ${show(value)}`, `pass ${wanted}`, key);
}

export function checkKey(key: unknown, where: string): void {
  if (!['string', 'symbol', 'function'].includes(typeof key))
    refuse(`${where} got ${show(key)}`, 'a key is a string, a symbol or a class');
}

export const areTags = (tags: unknown): tags is string[] =>
  Array.isArray(tags) && tags.every((tag) => typeof tag === 'string');

export function checkedTags(tags: readonly string[]): readonly string[] {
  if (areTags(tags)) return Object.freeze([...tags]);
  throw new ContainerError('AMBIT_OPTION', {
    about: `Tags must be a list of strings, not ${show(tags)}`,
    hint: "write { tags: ['request'] }",
  });
}
