import { randomUUID } from 'node:crypto';
import type { IDatabasePool } from '../core/contract.js';
import type { OutboxEvent } from './event.js';
import type { Statements } from './statements.js';

/** An event that this relay, and no other, may deliver now. */
export interface Claimed {
  readonly position: number;
  readonly event: OutboxEvent;
  /** When it was published, by the clock of this process. */
  readonly publishedAt: number;
}

/** What becomes of an event that was not delivered. */
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

interface ClaimedRow {
  readonly position: number | string;
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly payload: string;
  readonly created_at: number | string;
  readonly attempts: number | string;
  readonly claimed_by: string | null;
  readonly age: number | string;
}

/** The table as one relay sees it. */
export class Store {
  readonly #pool: Pick<IDatabasePool, 'query'>;
  readonly #sql: Statements;
  /** Its name in the table: another process that takes over a claim has another one. */
  readonly #relay: string = randomUUID();
  readonly #claimMs: number;

  constructor(pool: Pick<IDatabasePool, 'query'>, sql: Statements, claimMs: number) {
    this.#pool = pool;
    this.#sql = sql;
    this.#claimMs = claimMs;
  }

  /**
   * Claims events, in the order in which they were published. `keys` are those of events that this relay has settled since
   * the last claim. `isMore` says that others may be due: `limit` was reached, maybe by events that wait for an earlier one.
   */
  async claim(limit: number, keys: readonly string[]): Promise<{ claimed: Claimed[]; isMore: boolean }> {
    const params = [this.#relay, this.#claimMs, limit, JSON.stringify(keys)];
    const rows = await this.#pool.query<ClaimedRow>(this.#sql.claim, params);
    const now = performance.now();
    const claimed = rows
      .filter(({ claimed_by: by }) => by === this.#relay)
      .map((row) => ({ position: Number(row.position), event: eventOf(row), publishedAt: now - Number(row.age) }))
      .toSorted((a, b) => a.position - b.position);
    return { claimed, isMore: rows.length >= limit };
  }

  async renew(positions: readonly number[]): Promise<void> {
    await this.#pool.query(this.#sql.renew, [this.#relay, this.#claimMs, JSON.stringify(positions)]);
  }

  async delivered(positions: readonly number[], keep: boolean): Promise<void> {
    await this.#pool.query(keep ? this.#sql.keep : this.#sql.remove, [JSON.stringify(positions)]);
  }

  /** Does nothing to an event that another relay has claimed meanwhile. */
  async release(released: readonly Released[]): Promise<void> {
    await this.#pool.query(this.#sql.release, [JSON.stringify(released), this.#relay]);
  }

  /** Deletes what was delivered so long ago. Returns whether there may be more. */
  async sweep(keepMs: number, limit: number): Promise<boolean> {
    return (await this.#pool.query(this.#sql.sweep, [keepMs, limit])).length === limit;
  }

  async measure(): Promise<Backlog> {
    const [row] = await this.#pool.query<{ pending: unknown; dead: unknown; lag: unknown }>(this.#sql.measure);
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
