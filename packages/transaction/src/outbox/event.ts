import { inspect } from 'node:util';
import { TransactionError } from '../core/errors.js';

/** What happened, as `publish()` takes it. */
export interface NewEvent {
  /** What kind of event it is, such as `order.created`. */
  readonly topic: string;
  /** Events with the same key are delivered in the order in which their transactions commit; without a key in any order. */
  readonly key?: string;
  /** Anything that `JSON.stringify()` can write. */
  readonly payload: unknown;
}

/** What a receiver gets. */
export interface OutboxEvent {
  /** The same at every delivery of this event and of no other: the idempotency key. */
  readonly id: string;
  /** The `topic` of `publish()`. */
  readonly topic: string;
  /** The `key` of `publish()`. */
  readonly key: string | undefined;
  /** The `payload` of `publish()`, after `JSON.stringify()` and `JSON.parse()`. */
  readonly payload: unknown;
  /** When it was published, by the clock of the database. */
  readonly createdAt: Date;
  /** 1 at the first delivery. One that the process did not survive is not counted. */
  readonly attempt: number;
}

const MAX_NAME = 255;
/** A receiver is sent one event at a time, and a relay holds a batch of them in memory. */
const MAX_PAYLOAD = 1_048_576;
// oxlint-disable-next-line no-control-regex -- these are what a header or a log line must not have
const CONTROL = /[\u0000-\u001f\u007f]/;

/** The payload as JSON, of an event that was found valid. */
export function payloadText({ topic, key, payload }: NewEvent): string {
  checkName('topic', topic);
  if (key !== undefined) checkName('key', key);
  const text = jsonOf(payload);
  if (text.length > MAX_PAYLOAD)
    throw refused(`payload has ${text.length} characters as JSON; ${MAX_PAYLOAD} are allowed`);
  return text;
}

function checkName(name: string, value: unknown): void {
  const isName = typeof value === 'string' && value.length > 0 && value.length <= MAX_NAME && !CONTROL.test(value);
  if (!isName || !isWellFormed(value))
    throw refused(
      `${name} must be text of 1 to ${MAX_NAME} characters without control characters, not ${inspect(value)}`,
    );
}

/** Half of a surrogate pair cannot be stored. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function jsonOf(payload: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(payload);
  } catch (cause) {
    throw new TransactionError('AMBIT_TX_EVENT', 'payload cannot be written as JSON', { cause });
  }
  if (text === undefined) throw refused(`payload must be a value that JSON has, not ${inspect(payload)}`);
  return text;
}

function refused(what: string): TransactionError {
  return new TransactionError('AMBIT_TX_EVENT', what);
}
