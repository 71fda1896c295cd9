import type { IPooledConnection } from '../contract.js';
import type { EventTable } from './events.js';
import type { KeyTable } from './keys.js';

/** The SQL of this codebase that differs between databases: each database has one of these, in its folder. */
export interface Database {
  /** The time in milliseconds since 1970, as a term of SQL, by the clock of the database: those of the processes may differ. */
  readonly now: string;
  /** The table of an outbox. Its name may have a schema in front. */
  events(table: string): EventTable;
  /** The table of idempotency keys. Its name may have a schema in front. */
  keys(table: string): KeyTable;
  /**
   * Sets the limit for locks in the open transaction of a sandbox, where the database has one; AMBIT_TX_STATEMENT_FAILED says that it is another
   * database.
   */
  sandbox(connection: IPooledConnection, lockTimeoutMs: number): SandboxDialect | Promise<SandboxDialect>;
}

export interface SandboxDialect {
  /** Makes the open transaction read-only, where a statement does. */
  readonly beginReadOnly?: string;
  /** PostgreSQL does this by itself when the savepoint is released or undone. */
  readonly endReadOnly?: string;
  /** Throws for a statement that writes, where the server takes the transaction for one that may. */
  refuseWrite?(sql: string): void;
  /** True if COMMIT may find a violated constraint that no statement has found. */
  readonly hasDeferrable: boolean;
  /** The settings that a statement changes, which production restores at COMMIT, or for the next user of the pool. */
  settingsChangedBy?(sql: string, params: readonly unknown[]): readonly string[];
  /** The database rolls the whole transaction back after some errors; BEGIN then succeeds, and is refused otherwise. */
  readonly mayLoseTransaction: boolean;
}
