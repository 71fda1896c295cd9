import { randomUUID } from 'node:crypto';
import type { IDatabasePool } from '@ambit/transaction';
import type { ClaimedRow, EventTable } from '@ambit/transaction/databases';
import type { OutboxEvent } from './outbox.js';

/** An event that this relay, and no other, may deliver now. */
export interface Claimed {
  readonly position: number;
  readonly event: OutboxEvent;
  /** When it was published, by the clock of this process. */
  readonly publishedAt: number;
}

/** The next state of an event that was not delivered. */
export interface Released {
  readonly position: number;
  /** How often it has failed. */
  readonly attempts: number;
  readonly error?: string;
  /** In how many milliseconds it may be tried again. */
  readonly delay?: number;
  readonly dead?: 'yes';
}

export interface Backlog {
  readonly pending: number;
  readonly dead: number;
  /** The age of the oldest event that is pending, in milliseconds. */
  readonly lag: number;
}

/** The table as one relay sees it. */
export class Store {
  readonly #pool: Pick<IDatabasePool, 'getConnection' | 'query'>;
  readonly #table: EventTable;
  /** Its name in the table: another process that takes over a claim has another one. */
  readonly #relay: string = randomUUID();
  readonly #claimMs: number;

  constructor(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, table: EventTable, claimMs: number) {
    this.#pool = pool;
    this.#table = table;
    this.#claimMs = claimMs;
  }

  /**
   * Claims events, in the order in which they were published. `keys` are those of events that this relay has settled since
   * the last claim. `isMore` says that others may be due: `limit` was reached, maybe by events that wait for an earlier one.
   */
  async claim(limit: number, keys: readonly string[]): Promise<{ claimed: Claimed[]; isMore: boolean }> {
    const wanted = { relay: this.#relay, claimMs: this.#claimMs, limit, keys };
    const { claimed: rows, postponed } = await this.#table.claim(this.#pool, wanted);
    const now = performance.now();
    const claimed = rows
      .map((row) => ({ position: Number(row.position), event: eventOf(row), publishedAt: now - Number(row.age) }))
      .toSorted((a, b) => a.position - b.position);
    return { claimed, isMore: rows.length + postponed >= limit };
  }

  async renew(positions: readonly number[]): Promise<void> {
    await this.#pool.query(this.#table.sql.renew, [this.#relay, this.#claimMs, JSON.stringify(positions)]);
  }

  async delivered(positions: readonly number[], keep: boolean): Promise<void> {
    await this.#pool.query(keep ? this.#table.sql.keep : this.#table.sql.remove, [JSON.stringify(positions)]);
  }

  /** Does nothing to an event that another relay has claimed meanwhile. */
  async release(released: readonly Released[]): Promise<void> {
    await this.#pool.query(this.#table.sql.release, [JSON.stringify(released), this.#relay]);
  }

  /** Deletes what was delivered so long ago. Returns whether there may be more. */
  async sweep(keepMs: number, limit: number): Promise<boolean> {
    return (await this.#table.sweep(this.#pool, keepMs, limit)) === limit;
  }

  async measure(): Promise<Backlog> {
    const [row] = await this.#pool.query<{ pending: unknown; dead: unknown; lag: unknown }>(this.#table.sql.measure);
    return { pending: Number(row?.pending ?? 0), dead: Number(row?.dead ?? 0), lag: Number(row?.lag ?? 0) };
  }
}

function eventOf({ id, topic, key, payload, created_at: createdAt, attempts }: ClaimedRow): OutboxEvent {
  return {
    id,
    topic,
    key: key ?? undefined,
    payload: JSON.parse(payload) as unknown,
    createdAt: new Date(Number(createdAt)),
    attempt: Number(attempts) + 1,
  };
}
