import type { DatabaseConnection, DatabasePool } from '@ambit/transaction';
import type { ContractDatabase, PoolsToTest } from '../pool-contract.js';

/** A suite on one kind of database, as the tests of a subject see it. */
export interface PoolSuite {
  readonly kind: ContractDatabase;
  /** Adds a test, which the kind may be expected to fail. */
  readonly it: (title: string, run: () => Promise<void>) => void;
  readonly each: <T>(title: string, cases: readonly T[], run: (value: T) => Promise<void>) => void;
  /** The bodies of all notes, by their id. */
  readonly bodies: () => Promise<string[]>;
  /** A connection of `pool` with an open transaction. */
  readonly begin: () => Promise<DatabaseConnection>;
  /** Commits, and returns the connection to its pool. */
  readonly commit: (connection: DatabaseConnection) => Promise<void>;
  readonly rollback: (connection: DatabaseConnection) => Promise<void>;
  /** The database of the test in progress, empty but for the table of notes. */
  database: PoolsToTest;
  /** One with one connection. */
  pool: DatabasePool;
}
