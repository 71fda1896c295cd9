import type { Key } from './keys.js';

/** What an error is about. Which fields are there depends on its code. */
export interface ErrorDetails {
  readonly key?: Key | undefined;
  /** Who asked for whom, from the first to the one that failed. */
  readonly path?: readonly Key[];
  /** The tags of the scope and of those above it, the outermost first. */
  readonly tags?: readonly (readonly string[])[];
  readonly about?: string;
  readonly hint?: string;
  readonly problems?: readonly ContainerError[];
  readonly cause?: unknown;
}

/** A key in a sentence: `'IUsers'`, `class Users`, `Symbol(users)`; other things as they are. */
export const show = (key: unknown): string =>
  typeof key === 'string' ? `'${key}'` : typeof key === 'function' ? `class ${key.name || '(anonymous)'}` : String(key);

/** A key in a drawing, without quotes. */
export const label = (key: Key): string =>
  typeof key === 'function' ? key.name || '(anonymous)' : String(key) || "''";

/** `[application] > [request]` */
export const showTags = (tags: readonly (readonly string[])[]): string =>
  tags.map((own) => `[${own.join(', ') || 'no tags'}]`).join(' > ');

/** Every code with its sentence; `key` is shown already. */
const sentences = {
  AMBIT_NOT_REGISTERED: (key) => `nothing is registered under ${key}`,
  AMBIT_OUT_OF_SCOPE: (key) => `${key} is registered, but not for this scope`,
  AMBIT_SHORTER_LIFE: (key, about) => `${about} outlives ${key} and so cannot hold it`,
  AMBIT_CYCLE: (key) => `${key} needs itself`,
  AMBIT_NO_KEY_FOR_PARAMETER: (_, about) => `${about} has no key`,
  AMBIT_UNREACHABLE: (key) => `no declared scope accepts ${key}`,
  AMBIT_BAD_REGISTRATION: (_, about) => about,
  AMBIT_BAD_TAGS: (_, about) => about,
  AMBIT_DISPOSED: (_, about) => about,
  AMBIT_DISPOSE_FAILED: () => 'not everything ended; the rest did',
  AMBIT_START_FAILED: (key) => `${key} did not start`,
  AMBIT_INVALID: (_, about) => about,
  AMBIT_NO_CURRENT_SCOPE: () => 'no scope is current here',
  AMBIT_OPEN_SCOPES: (_, about) => about,
} satisfies Record<string, (key: string, about: string) => string>;

/** The stable codes of {@link ContainerError}. */
export type ErrorCode = keyof typeof sentences;

const indent = (text: string, by: string) => text.replaceAll('\n', `\n${by}`);

/** A ring for the eye: the path goes right, the last arrow comes back. */
const drawing = (ring: readonly Key[]): string => {
  const line = ring.map(label).join(' -> ');
  return `${line} -+\n^${' '.repeat(line.length)} |\n+${'-'.repeat(line.length + 1)}+`;
};

const message = (code: ErrorCode, { key, path, tags, about = '', hint, problems, cause }: ErrorDetails): string => {
  const lines = [`${code}: ${sentences[code](show(key), about)}`];
  const add = (name: string, text: string) => lines.push(`  ${name.padEnd(6)}${indent(text, '        ')}`);
  if (code === 'AMBIT_CYCLE' && path) add('cycle', drawing(path.slice(path.indexOf(key as Key), -1)));
  if (path && path.length > 1) add('path', path.map(label).join(' -> '));
  if (tags) add('scope', showTags(tags));
  if (cause instanceof Error) add('cause', cause.message);
  if (hint) add('hint', hint);
  problems?.forEach((problem, i) => lines.push(`\n${i + 1}. ${indent(problem.message, '   ')}`));
  return lines.join('\n');
};

/** The one error of the container: a stable code, and a message that says what, where, why and what to do. */
export class ContainerError extends Error {
  override readonly name = 'ContainerError';
  readonly key: Key | undefined;
  readonly path: readonly Key[];
  readonly tags: readonly (readonly string[])[];
  readonly hint: string | undefined;
  /** For `AMBIT_INVALID`, everything that `verify` found. */
  readonly problems: readonly ContainerError[];

  constructor(
    readonly code: ErrorCode,
    details: ErrorDetails,
  ) {
    super(message(code, details), 'cause' in details ? { cause: details.cause } : undefined);
    this.key = details.key;
    this.path = details.path ?? [];
    this.tags = details.tags ?? [];
    this.hint = details.hint;
    this.problems = details.problems ?? [];
  }
}

/** One instance that did not end. */
export interface Failure {
  readonly key: Key;
  readonly tags: readonly (readonly string[])[];
  readonly error: unknown;
}

/** What `dispose()` rejects with: `errors` are those the instances threw, in the order they were ended. */
export class DisposeError extends AggregateError {
  readonly code = 'AMBIT_DISPOSE_FAILED' satisfies ErrorCode;

  constructor(readonly failures: readonly Failure[]) {
    const each = failures.map(({ key, tags, error }) => `\n  ${show(key)} in ${showTags(tags)}: ${error instanceof Error ? error.message : String(error)}`);
    super(failures.map(({ error }) => error), `AMBIT_DISPOSE_FAILED: not everything ended; the rest did${each.join('')}`);
    this.name = 'DisposeError';
  }
}
