import type { IConnection, IDatabasePool } from '@ambit/transaction';

/** An event as it is stored. */
interface NewRow {
  readonly id: string;
  readonly topic: string;
  readonly key: string | undefined;
  /** As JSON. */
  readonly payload: string;
}

/** Which events a relay asks for. */
export interface Wanted {
  /** The name of the relay. */
  readonly relay: string;
  readonly claimMs: number;
  readonly limit: number;
  /** Those of events that this relay has settled: events that were postponed because of them are looked at, too. */
  readonly keys: readonly string[];
}

/** An event that is stored. */
interface StoredRow {
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly payload: string;
  readonly created_at: number | string;
  readonly attempts: number | string;
}

/** An event that was claimed. */
export interface ClaimedRow extends StoredRow {
  readonly position: number | string;
  readonly age: number | string;
}

export interface Claim {
  readonly claimed: readonly ClaimedRow[];
  /** How many events were found that wait for an earlier one. */
  readonly postponed: number;
}

/** An event that failed too often. */
export interface DeadRow extends StoredRow {
  readonly settled_at: number | string;
  readonly last_error: string | null;
}

/** The texts of what each database does in one statement. Pools recognize statements by their text, so there is one text for each. */
export interface Statements {
  /** `$1` the relay, `$2` for how long, `$3` a JSON array of positions. */
  readonly renew: string;
  /** `$1` a JSON array of positions. */
  readonly remove: string;
  readonly keep: string;
  /** `$1` a JSON array of `Released`, `$2` the relay. */
  readonly release: string;
  readonly measure: string;
  /** `$1` how many. */
  readonly deadLetters: string;
}

/** A table of events in one kind of database. */
export interface EventTable {
  readonly name: string;
  /** The statements that create the table and its indexes. */
  readonly schema: string;
  readonly sql: Statements;
  create(pool: Pick<IDatabasePool, 'getConnection' | 'query'>): Promise<void>;
  publish(connection: Pick<IConnection, 'query'>, row: NewRow): Promise<unknown>;
  /**
   * Claims events. One is claimed together with all earlier ones of its key, or postponed until the first of those may be claimed.
   */
  claim(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, wanted: Wanted): Promise<Claim>;
  /** Deletes what was delivered so long ago, and gives how many there were. */
  sweep(pool: Pick<IDatabasePool, 'query'>, keepMs: number, limit: number): Promise<number>;
  /** Makes dead letters pending again, and gives how many there were. */
  retry(pool: Pick<IDatabasePool, 'query'>, ids: readonly string[] | 'all'): Promise<number>;
}

/** Makes the table of a name, which may have a schema in front. */
export type Dialect = (table: string) => EventTable;

/**
 * An event that waits for one that is being delivered is looked at again after so long, unless the relay that settled that one
 * does so at once.
 */
export const NAP_MS = 1000;
