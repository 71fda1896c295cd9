import { type Clock, TransactionError } from '@ambit/transaction';
import { checkClock, checkCount, checkFunction, checkTime, given, systemClock } from '@ambit/transaction/extension';
import type { OutboxEvent } from './outbox.js';

/** Passes an event on. When it resolves, the event is delivered; when it rejects, it is tried again later. */
export type Deliver = (event: OutboxEvent, signal: AbortSignal) => unknown;

/** How a relay delivers: time limits, back-off, and how many events at once. */
export interface RelayOptions {
  /** The time that one delivery may take. Then its signal aborts, and it has failed. Default 10 s. */
  readonly deliveryTimeoutMs?: number;
  /** The number of events that are claimed and delivered at once. Default 50. */
  readonly concurrency?: number;
  /** After so many failures an event is a dead letter. Default 20, which is about an hour. */
  readonly maxAttempts?: number;
  /** The pause after the first failure of an event; it doubles with each. Default 1 s. */
  readonly backoffMs?: number;
  /** The longest pause. Default 5 min. */
  readonly maxBackoffMs?: number;
  /** How often the table is read when nobody calls `wake()`. Default 1 s. */
  readonly pollMs?: number;
  /** The time that a relay that was woken waits for further events, to claim them together. Default 20 ms. */
  readonly gatherMs?: number;
  /** After how long another relay takes over the events of one that crashed. Default 10 s. */
  readonly claimMs?: number;
  /** The time that `dispose()` waits for deliveries in progress before it aborts them: less than `claimMs`. Default 5 s. */
  readonly drainMs?: number;
  /** The time that delivered events stay in the table. Default 0: they are deleted at once. */
  readonly keepDeliveredMs?: number;
  /** How often the backlog is measured, where somebody subscribes to its channel. Default 15 s. */
  readonly measureMs?: number;
  /** Called with each event that becomes a dead letter, and when the database cannot be used. Default: a process warning. */
  readonly onError?: (error: TransactionError) => void;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

export type RelaySettings = Required<Omit<RelayOptions, 'onError'>> & Pick<RelayOptions, 'onError'>;

const DEFAULTS: RelaySettings = {
  deliveryTimeoutMs: 10_000,
  concurrency: 50,
  maxAttempts: 20,
  backoffMs: 1000,
  maxBackoffMs: 300_000,
  pollMs: 1000,
  gatherMs: 20,
  claimMs: 10_000,
  drainMs: 5000,
  keepDeliveredMs: 0,
  measureMs: 15_000,
  clock: systemClock,
};

const TIMES = ['backoffMs', 'maxBackoffMs', 'gatherMs', 'drainMs', 'keepDeliveredMs'] as const;
/** Zero would let the relay run in a loop, or fail every delivery; without an end it would wait forever. */
const FINITE_TIMES = ['deliveryTimeoutMs', 'pollMs', 'claimMs', 'measureMs'] as const;

export function readRelayOptions(options: RelayOptions): RelaySettings {
  for (const name of [...TIMES, ...FINITE_TIMES]) checkTime(name, options[name]);
  for (const name of FINITE_TIMES) {
    const value = options[name];
    if (value === 0 || value === Infinity)
      throw new TransactionError('AMBIT_OPTION', `${name} must be more than 0 and finite, not ${value}`);
  }
  checkCount('concurrency', options.concurrency, 1);
  checkCount('maxAttempts', options.maxAttempts, 1);
  checkFunction('onError', options.onError);
  checkClock(options.clock);
  const settings = { ...DEFAULTS, ...given(options) };
  const { drainMs, claimMs } = settings;
  if (drainMs >= claimMs)
    throw new TransactionError(
      'AMBIT_OPTION',
      `drainMs must be less than claimMs, ${claimMs}, not ${drainMs}: otherwise another relay delivers what this one still delivers while it shuts down`,
    );
  return settings;
}

/** The pause before the next attempt: between the half and the whole of what has doubled with each failure. */
export function backoff({ backoffMs, maxBackoffMs, clock }: RelaySettings, failures: number): number {
  const longest = Math.min(maxBackoffMs, backoffMs * 2 ** (failures - 1));
  return Math.round(longest * (0.5 + clock.random() / 2));
}
