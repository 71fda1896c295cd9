import type { IPooledConnection } from '../core/contract.js';
import { refusedStatement } from '../core/errors.js';
import { codeOf } from '../core/sql-state.js';
import { settingsChangedBy } from '../postgres/language.js';
import { commandOf } from '../sql/command.js';
import { MYSQL } from '../sql/lexer.js';

/** What differs between the databases that a sandbox can be on. */
export interface SandboxDialect {
  /** Makes the open transaction read-only, where a statement does. */
  readonly beginReadOnly?: string;
  /** PostgreSQL does this by itself when the savepoint is released or undone. */
  readonly endReadOnly?: string;
  /** Throws for a statement that writes, where the server takes the transaction for one that may. */
  refuseWrite?(sql: string): void;
  /** Whether COMMIT may find a violated constraint that no statement has found. */
  readonly hasDeferrable: boolean;
  /** The settings that a statement changes, which production restores at COMMIT, or for the next user of the pool. */
  settingsChangedBy?(sql: string, params: readonly unknown[]): readonly string[];
  /** The database rolls the whole transaction back after some errors; BEGIN then succeeds, and is refused otherwise. */
  readonly mayLoseTransaction: boolean;
}

const SQLITE: SandboxDialect = {
  beginReadOnly: 'PRAGMA query_only = ON',
  endReadOnly: 'PRAGMA query_only = OFF',
  hasDeferrable: false,
  mayLoseTransaction: true,
};

/** Their transactions are read-only from the beginning, or not at all. */
const MYSQL_OR_MARIADB: SandboxDialect = {
  refuseWrite: (sql) => {
    if (!/^(?:INSERT|UPDATE|DELETE|LOAD|CALL)$/.test(commandOf(sql, MYSQL))) return;
    throw refusedStatement(new Error('The transaction only reads: the sandbox refuses what would write'), '25006');
  },
  hasDeferrable: false,
  mayLoseTransaction: true,
};

/** Asks for properties of PostgreSQL; only that has this table. */
const POSTGRES_PROBE = `SELECT EXISTS (SELECT FROM pg_constraint WHERE condeferrable) AS deferrable,
  set_config('lock_timeout', $1, true) AS lock_timeout`;

/** The dialect of the open transaction, whose limit for locks is set where the database has one. */
export async function dialectOf(connection: IPooledConnection, lockTimeoutMs: number): Promise<SandboxDialect> {
  try {
    const [found] = await connection.query<{ deferrable: boolean }>(POSTGRES_PROBE, [String(lockTimeoutMs)]);
    return {
      beginReadOnly: 'SET TRANSACTION READ ONLY',
      hasDeferrable: found?.deferrable === true,
      settingsChangedBy,
      mayLoseTransaction: false,
    };
  } catch (error) {
    refuseUnlessRefused(error);
  }
  try {
    await connection.query(`SET innodb_lock_wait_timeout = ${Math.ceil(lockTimeoutMs / 1000)}`);
    return MYSQL_OR_MARIADB;
  } catch (error) {
    refuseUnlessRefused(error);
  }
  return SQLITE;
}

/** On SQLite and MariaDB a statement that fails does not affect its transaction. */
function refuseUnlessRefused(error: unknown): void {
  if (codeOf(error) !== 'AMBIT_TX_STATEMENT_FAILED') throw error;
}
