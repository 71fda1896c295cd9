import type { IConnection, IDatabasePool } from '@ambit/transaction';
import type { StoredKey } from '../key.js';

/** A key that is to be stored. */
interface NewKey extends StoredKey {
  /** For how long a key is kept, by the clock of the database. */
  readonly lifetimeMs: number;
}

/** The table of the keys in one kind of database. Pools recognize statements by their text, so there is one text for each. */
export interface KeyTable {
  /** The statements that create the table and its index. */
  readonly schema: string;
  /**
   * Stores a new key, or takes over an expired one, and tells whether it did. While another transaction has the key, it fails with
   * SQLSTATE 55P03.
   */
  insert(connection: Pick<IConnection, 'query'>, key: NewKey): Promise<boolean>;
  /** Gives the row of a key that is known: `$1` key. */
  readonly find: string;
  /** Stores the response of a key: `$1` key, `$2` status, `$3` headers, `$4` body. */
  readonly keep: string;
  /** Removes a batch of what was stored after `after` and has expired, the oldest first, and gives when each was stored. */
  remove(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, after: number, lifetimeMs: number): Promise<number[]>;
}

/** Makes the table of a name, which may have a schema in front. */
export type Dialect = (table: string) => KeyTable;

/** How many expired keys are removed at a time. */
export const BATCH_SIZE = 1000;
