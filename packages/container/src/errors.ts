import { inspect } from 'node:util';
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

// Longer lists are shortened: thousands of nested scopes, or of failures, would make an error of megabytes.
const MOST_LEVELS = 8;
const MOST_FAILURES = 10;

const level = (tags: readonly string[]): string => `[${tags.join(', ') || 'no tags'}]`;

/** `[application] > [request]`; of more than eight levels the outermost and the innermost four. */
export function showTags(lineage: Lineage): string {
  if (lineage.length <= MOST_LEVELS) return lineage.map(level).join(' > ');
  const half = MOST_LEVELS / 2;
  const between = `... ${lineage.length - MOST_LEVELS} more ...`;
  return [...lineage.slice(0, half).map(level), between, ...lineage.slice(-half).map(level)].join(' > ');
}

/** Codes and their sentences; `%` is what it is about, the key unless said otherwise. */
const sentences = {
  AMBIT_NOT_REGISTERED: 'nothing is registered under %',
  AMBIT_OUT_OF_SCOPE: '% is registered, but not for this scope',
  AMBIT_SHORTER_LIFE: '%, and so cannot hold it',
  AMBIT_CYCLE: '% needs itself',
  AMBIT_NO_KEY_FOR_PARAMETER: '% has no key',
  AMBIT_UNREACHABLE: 'no declared scope accepts %',
  AMBIT_UNDISPOSED: 'nobody disposes the instances of %',
  AMBIT_BAD_TAGS: 'tags are a list of strings, not %',
  AMBIT_DISPOSED: '% came after the end of this scope',
  AMBIT_DISPOSE_FAILED: 'not everything ended; the rest did. Each error is in .failures:%',
  AMBIT_START_FAILED: '% did not start',
  AMBIT_NO_CURRENT_SCOPE: 'no scope is current here',
};

/** Codes whose whole sentence comes with the error. */
type OtherCode =
  | 'AMBIT_BAD_REGISTRATION'
  | 'AMBIT_BAD_OPTION'
  | 'AMBIT_INVALID'
  | 'AMBIT_OPEN_SCOPES'
  | 'AMBIT_DRAINING'
  | 'AMBIT_DRAIN_TIMEOUT';

/** The stable codes of {@link ContainerError} and {@link DisposeError}. */
export type ErrorCode = keyof typeof sentences | OtherCode;

/** What an error is about. Which fields are there depends on its code. */
export interface ErrorDetails {
  readonly key?: Key | undefined;
  readonly about?: string;
  /** Who asked for whom, from the first to the one that failed. */
  readonly path?: readonly Key[];
  readonly tags?: Lineage;
  readonly hint?: string;
  readonly problems?: readonly ContainerError[];
  readonly cause?: unknown;
}

const sentenceOf = (code: ErrorCode): string => (sentences as Partial<Record<ErrorCode, string>>)[code] ?? '%';
const headline = (code: ErrorCode, about: string) => `${code}: ${sentenceOf(code).replace('%', () => about)}`;

/** A ring for the eye: the way goes right, and the last arrow comes back. */
function ring(keys: readonly Key[]): string {
  const way = keys.map(label).join(' -> ');
  return `${way} -+\n        ^${' '.repeat(way.length)} |\n        +${'-'.repeat(way.length + 1)}+`;
}

function message(code: ErrorCode, { key, about, path = [], tags, hint, problems = [], cause }: ErrorDetails): string {
  const lines = {
    path: path[1] && path.map(label).join(' -> '),
    cycle: code === 'AMBIT_CYCLE' && ring(path.slice(path.indexOf(key as Key), -1)),
    scope: tags && showTags(tags),
    cause: code === 'AMBIT_START_FAILED' && words(cause),
    hint,
  };
  return [
    headline(code, about ?? show(key)),
    ...Object.entries(lines).flatMap(([name, line]) => (line ? `  ${name.padEnd(6)}${line}` : [])),
    ...problems.map((problem, i) => `\n${i + 1}. ${problem.message.replaceAll('\n', '\n   ')}`),
  ].join('\n');
}

/** What the container throws: a stable code, and a message that says what, where, why and what to do. */
export class ContainerError extends Error {
  override readonly name = 'ContainerError';
  declare readonly key: Key | undefined;
  declare readonly path: readonly Key[];
  declare readonly tags: Lineage;
  declare readonly hint: string | undefined;
  /** For `AMBIT_INVALID`, everything that `verify` found. */
  declare readonly problems: readonly ContainerError[];

  constructor(
    readonly code: ErrorCode,
    details: ErrorDetails,
  ) {
    super(message(code, details), details);
    const { key, path = [], tags = [], hint, problems = [] } = details;
    Object.assign(this, { key, path, tags, hint, problems });
  }
}

/** One instance that did not end. */
export interface Failure {
  readonly key: Key;
  readonly tags: Lineage;
  readonly error: unknown;
}

/** What `dispose()` rejects with: `errors` are those the instances threw, in the order in which they were ended. */
export class DisposeError extends AggregateError {
  override readonly name = 'DisposeError';
  readonly code = 'AMBIT_DISPOSE_FAILED' satisfies ErrorCode;

  constructor(readonly failures: readonly Failure[]) {
    const each = failures
      .slice(0, MOST_FAILURES)
      .map(({ key, tags, error }) => `\n  ${show(key)} in ${showTags(tags)}: ${words(error)}`);
    if (failures.length > MOST_FAILURES) each.push(`\n  ... and ${failures.length - MOST_FAILURES} more`);
    super(
      failures.map(({ error }) => error),
      headline('AMBIT_DISPOSE_FAILED', each.join('')),
    );
  }
}
