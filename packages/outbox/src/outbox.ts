import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { type IConnection, type IDatabasePool, TransactionError } from '@ambit/transaction';
import { checkCount, checkFunction, checkSchema, valueBy } from '@ambit/transaction/extension';
import type { DeadRow, EventTable } from '@ambit/transaction/databases';
import type { Deliver, RelayOptions } from './options.js';
import { Relay } from './relay.js';
import { type OutboxOptions, tableOf, type Topics } from './schema.js';

/** An event, as `publish()` takes it. */
export interface NewEvent<Topic extends string = string, Payload = unknown> {
  /** The kind of event, such as `order.created`. */
  readonly topic: Topic;
  /** Events with the same key are delivered in the order in which their transactions commit; without a key in any order. */
  readonly key?: string;
  /** Anything that `JSON.stringify()` can write. */
  readonly payload: Payload;
}

/** The events that the schemas of an outbox accept. */
export type EventOf<T extends Topics> = {
  [K in keyof T & string]: NewEvent<K, InputOf<T[K]>>;
}[keyof T & string];

type InputOf<S> = S extends { readonly '~standard': { readonly types?: { readonly input: infer Input } | undefined } }
  ? Input
  : unknown;

/** An event, as a receiver gets it. */
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
  /** The number of the delivery, from 1. A delivery during which the process crashed is not counted. */
  readonly attempt: number;
}

const MAX_NAME = 255;
/** A receiver is sent one event at a time, and a relay holds a batch of them in memory. */
const MAX_PAYLOAD = 1_048_576;
// oxlint-disable-next-line no-control-regex -- these are what a header or a log line must not have
const CONTROL = /[\u0000-\u001f\u007f]/;

/** The event with the payload that its schema returns. */
async function checked(event: NewEvent, topics: Topics): Promise<NewEvent> {
  const { topic, payload } = event;
  const schema = Object.hasOwn(topics, topic) ? topics[topic] : undefined;
  if (!schema) throw refused(`topics has no schema for ${inspect(topic)}`);
  return { ...event, payload: await valueBy(schema, payload, `The event was not published: payload of ${topic}`) };
}

/** The payload as JSON, of an event that was found valid. */
function payloadText({ topic, key, payload }: NewEvent): string {
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
    throw refused('payload cannot be written as JSON', { cause });
  }
  if (text === undefined) throw refused(`payload must be a value that JSON has, not ${inspect(payload)}`);
  return text;
}

function refused(what: string, options?: { cause: unknown }): TransactionError {
  return new TransactionError('AMBIT_TX_PARAMETER', `The event was not published: ${what}`, options);
}

/** An event that failed too often. */
export interface DeadLetter extends OutboxEvent {
  /** When it became a dead letter, by the clock of the database. */
  readonly diedAt: Date;
  /** The message of the last failure. */
  readonly lastError: string;
}

/**
 * A table of events that are committed with the data that they describe, and delivered afterwards. Made by `createOutbox()`.
 *
 * @example
 * ```ts
 * import type { Outbox } from '@ambit/outbox';
 *
 * async function retryOrders(outbox: Outbox): Promise<number> {
 *   const dead = await outbox.deadLetters({ limit: 50 });
 *   return outbox.retry(dead.filter(({ topic }) => topic === 'order.created').map(({ id }) => id));
 * }
 * ```
 */
export class Outbox<T extends Topics = Topics> {
  readonly #pool: Pick<IDatabasePool, 'getConnection' | 'query'>;
  readonly #table: EventTable;
  readonly #topics: Topics | undefined;

  /** @internal Call `createOutbox()` instead. */
  constructor(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, options: OutboxOptions<T>) {
    this.#pool = pool;
    this.#table = tableOf(options);
    this.#topics = options.topics;
    for (const [topic, schema] of Object.entries(options.topics ?? {})) checkSchema(`topics['${topic}']`, schema);
  }

  /**
   * Stores an event in the transaction of the connection: it is delivered after COMMIT, and never if that does not come.
   *
   * On PostgreSQL and MariaDB a transaction that publishes with a key waits for others that have published with it, until they
   * are complete; so events with one key are delivered in the order in which their transactions commit. Two transactions that
   * publish with two keys each, in different orders, can deadlock; `runInTransaction()` retries that.
   *
   * @param connection - the `IConnection` of a transaction scope; with a pool, the event is committed by itself. On MariaDB a key
   *   keeps its order only with one of these two
   * @param event - its topic, its payload, and a key for what must be delivered in order
   * @returns the id of the event, by which a receiver recognizes a repetition
   * @throws `TransactionError` `AMBIT_TX_PARAMETER`: an invalid event; nothing was published
   * @throws what `query()` of the connection throws
   */
  async publish(connection: Pick<IConnection, 'query'>, event: EventOf<T>): Promise<string> {
    const payload = payloadText(this.#topics ? await checked(event, this.#topics) : event);
    const id = randomUUID();
    const { topic, key } = event;
    await this.#table.publish(connection, { id, topic, key, payload });
    return id;
  }

  /**
   * A relay delivers the events. Keep one per process, as a singleton of the application: `start()` it, `dispose()` it at
   * shutdown before the pool is closed, which the container does by itself.
   *
   * @param deliver - receives an event, and a signal that aborts at the time limit and at shutdown
   * @param options - time limits, back-off, concurrency
   * @returns a relay that is not started
   * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
   */
  relay(deliver: Deliver, options: RelayOptions = {}): Relay {
    checkFunction('deliver', deliver, { required: true });
    return new Relay(this.#pool, this.#table, deliver, options);
  }

  /**
   * The events that failed too often, oldest first.
   *
   * @param options - `limit`: how many at most. Default 100
   * @returns the dead letters; `retry()` takes their ids
   * @throws `TransactionError` `AMBIT_OPTION`: `limit` is not a whole number from 1 on
   * @throws what `query()` of the pool throws
   */
  async deadLetters({ limit = 100 }: { readonly limit?: number } = {}): Promise<DeadLetter[]> {
    checkCount('limit', limit, 1);
    const rows = await this.#pool.query<DeadRow>(this.#table.sql.deadLetters, [limit]);
    return rows.map((row) => ({
      id: row.id,
      topic: row.topic,
      key: row.key ?? undefined,
      payload: JSON.parse(row.payload) as unknown,
      createdAt: new Date(Number(row.created_at)),
      attempt: Number(row.attempts),
      diedAt: new Date(Number(row.settled_at)),
      lastError: row.last_error ?? '',
    }));
  }

  /**
   * Lets dead letters be delivered again, with all their attempts. They come before later events of their key that are still
   * pending; those that were delivered meanwhile have overtaken them.
   *
   * @param ids - the events, or `'all'`
   * @returns how many dead letters there were
   * @throws what `query()` of the pool throws
   */
  retry(ids: readonly string[] | 'all'): Promise<number> {
    return this.#table.retry(this.#pool, ids);
  }

  /**
   * Creates the table and its indexes, in one transaction where the database can do that. It is made for a migration, and for tests.
   *
   * @throws `TransactionError` `AMBIT_TX_STATEMENT_FAILED`: the database refused it, such as because the table exists
   * @throws what `getConnection()` of the pool, and BEGIN and COMMIT on its connection, throw
   */
  createTable(): Promise<void> {
    return this.#table.create(this.#pool);
  }
}

/**
 * A transactional outbox: events are stored in the transaction of the data that they describe, and a relay delivers them
 * after COMMIT, at least once, in order per key.
 *
 * @param pool - the pool of the application; the relay reads and writes with it
 * @param options - the kind of database, the name of the table, and the schemas of payloads
 * @returns the outbox; it holds nothing open
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import type { Container } from '@ambit/container';
 * import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
 * import { createOutbox } from '@ambit/outbox';
 *
 * async function placeOrder(app: Container, pool: IDatabasePool): Promise<void> {
 *   const outbox = createOutbox(pool, { dialect: 'postgres' });
 *   const relay = outbox.relay(async ({ id, payload }, signal) => {
 *     const headers = { 'content-type': 'application/json', 'webhook-id': id };
 *     const init = { method: 'POST', headers, body: JSON.stringify(payload), signal };
 *     const { ok, status } = await fetch('https://example.org/hook', init);
 *     if (!ok) throw new Error(`The receiver responded with ${status}`);
 *   });
 *   relay.start();
 *   await runInTransaction(app, (scope) =>
 *     outbox.publish(scope.resolve<IConnection>('IConnection'), { topic: 'order.created', key: 'ada', payload: { id: 1 } }),
 *   );
 *   relay.wake();
 * }
 * ```
 */
export function createOutbox<T extends Topics = Topics>(
  pool: Pick<IDatabasePool, 'getConnection' | 'query'>,
  options: OutboxOptions<T>,
): Outbox<T> {
  checkFunction('pool.query', (pool as Partial<IDatabasePool> | undefined)?.query, { required: true });
  return new Outbox(pool, options);
}
