import { inspect } from 'node:util';
import { type Clock, systemClock } from './clock.js';
import type { BeginOptions } from './contract.js';
import { TransactionError } from './errors.js';

export interface TransactionOptions extends BeginOptions {
  /** Aborts when nobody waits for the result any more: until COMMIT is sent, that rolls back. */
  readonly signal?: AbortSignal;
  /** How long to wait for a connection. Default: what the pool says, but no longer than `timeoutMs`. */
  readonly acquireTimeoutMs?: number;
  /**
   * How long the transaction may be open before it is rolled back; in `runInTransaction()`, how long all attempts may take
   * together, the waits for connections included. Default 30 s; `Infinity` for no limit.
   */
  readonly timeoutMs?: number;
  /** How long COMMIT, ROLLBACK and the end of the scope may take, each. Default 10 s. On SQLite the end of the scope only. */
  readonly endTimeoutMs?: number;
  /** How long a rollback waits for the statement under way before it cancels it. Default 100 ms. On SQLite for BEGIN only. */
  readonly cancelAfterMs?: number;
  /**
   * Told of failures that change no outcome: a rollback that failed, a scope that failed to dispose. Default: a process
   * warning, which there is as well where it fails itself, async or not.
   */
  readonly onError?: (error: TransactionError) => void;
  readonly clock?: Clock;
}

/** The options with every gap filled. */
export interface Settings {
  /** What BEGIN is told. */
  readonly terms: BeginOptions;
  readonly signal: AbortSignal | undefined;
  readonly acquireTimeoutMs: number | undefined;
  readonly timeoutMs: number;
  readonly endTimeoutMs: number;
  readonly cancelAfterMs: number;
  readonly onError: (error: TransactionError) => void;
  readonly clock: Clock;
}

const LEVELS: ReadonlySet<unknown> = new Set(['read committed', 'repeatable read', 'serializable']);

export function readOptions(options: TransactionOptions): Settings {
  const { signal, acquireTimeoutMs, timeoutMs = 30_000, endTimeoutMs = 10_000, cancelAfterMs = 100 } = options;
  checkTime('acquireTimeoutMs', acquireTimeoutMs);
  checkTime('timeoutMs', timeoutMs);
  checkTime('endTimeoutMs', endTimeoutMs);
  checkTime('cancelAfterMs', cancelAfterMs);
  checkSignal(signal);
  checkFunction('onError', options.onError);
  checkClock(options.clock);
  const { onError = warn, clock = systemClock } = options;
  const terms = readTerms(options);
  return { terms, signal, acquireTimeoutMs, timeoutMs, endTimeoutMs, cancelAfterMs, onError, clock };
}

const NO_TERMS: BeginOptions = {};

/** Absent rather than undefined where nothing was asked. */
function readTerms({ isolation, readOnly }: BeginOptions): BeginOptions {
  checkIsolation(isolation);
  checkBoolean('readOnly', readOnly);
  if (isolation === undefined) return readOnly === undefined ? NO_TERMS : { readOnly };
  return readOnly === undefined ? { isolation } : { isolation, readOnly };
}

/** A reporter that fails must not change how a transaction ends. */
export function report({ onError }: Settings, error: TransactionError): void {
  // The call is made at once; an async function turns whatever becomes of it into a promise.
  (async () => onError(error))().catch(() => warn(error));
}

function warn(error: TransactionError): void {
  // Of a warning Node prints the message and the detail, but not the cause, and only the cause says what went wrong.
  process.emitWarning(Object.assign(error, { detail: described(error.cause) }));
}

/** A cause may refuse to be looked at. */
function described(cause: unknown): string {
  try {
    return inspect(cause);
  } catch {
    return 'The cause cannot be read';
  }
}

/** Only the options that have a value: `undefined`, as in `{ max: config.max }`, means the default like no option at all. */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

export function checkTime(name: string, value: unknown): void {
  if (value === undefined || (typeof value === 'number' && value >= 0)) return;
  throw new TransactionError('AMBIT_TX_OPTION', `${name} must be a number of milliseconds, not ${inspect(value)}`);
}

export function checkCount(name: string, value: unknown, least: number): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= least)) return;
  throw new TransactionError(
    'AMBIT_TX_OPTION',
    `${name} must be a whole number from ${least} on, not ${inspect(value)}`,
  );
}

export function checkBoolean(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new TransactionError('AMBIT_TX_OPTION', `${name} must be true or false, not ${inspect(value)}`);
}

export function checkFunction(name: string, value: unknown, { required = false } = {}): void {
  if (typeof value === 'function' || (value === undefined && !required)) return;
  throw new TransactionError('AMBIT_TX_OPTION', `${name} must be a function, not ${inspect(value)}`);
}

export function checkClock(clock: Partial<Clock> | undefined): void {
  if (clock === undefined) return;
  for (const name of ['now', 'setTimer', 'random'] as const)
    checkFunction(`clock.${name}`, clock[name], { required: true });
}

function checkSignal(signal: Partial<AbortSignal> | null | undefined): void {
  if (signal === undefined || signal === null) return;
  if (typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function') return;
  throw new TransactionError('AMBIT_TX_OPTION', `signal must be an AbortSignal, not ${inspect(signal)}`);
}

export function checkIsolation(isolation: unknown): void {
  if (isolation === undefined || LEVELS.has(isolation)) return;
  throw new TransactionError(
    'AMBIT_TX_OPTION',
    `isolation must be one of ${[...LEVELS].join(', ')}, not ${inspect(isolation)}`,
  );
}
