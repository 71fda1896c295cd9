/** One statement of a driver that calls SQLite directly. */
export interface SqliteEngineStatement {
  /** True if it gives rows. */
  readonly isReader: boolean;
  /**
   * The names of its columns, as they were when it was last run: a table may be changed.
   *
   * @returns the names
   */
  columns(): readonly string[];
  /**
   * Runs a statement that gives rows.
   *
   * @param values - the values of its parameters, by place
   * @returns the rows as arrays, integers as bigints
   */
  all(values: readonly unknown[]): unknown[][];
  /**
   * Runs a statement that gives no rows.
   *
   * @param values - the values of its parameters, by place
   * @returns how many rows it changed, and the rowid that was inserted last
   */
  run(values: readonly unknown[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
}

/** A connection of a driver that calls SQLite directly: every call has finished when it returns. Errors have SQLite's names in `code`. */
export interface SqliteEngine {
  /** False once it is closed. */
  readonly isOpen: boolean;
  /** True if a transaction is open. */
  readonly inTransaction: boolean;
  /**
   * Prepares a statement of the application.
   *
   * @param sql - one statement, with `?` for its parameters
   * @returns the statement
   */
  prepare(sql: string): SqliteEngineStatement;
  /**
   * Runs a statement of this package, such as BEGIN.
   *
   * @param sql - the statement
   */
  exec(sql: string): void;
  /** Closes the database. */
  close(): void;
}

/** The value, or the first of several, that a statement of this package gives. */
export function ask(engine: SqliteEngine, sql: string): unknown {
  return engine.prepare(sql).all([])[0]?.[0];
}

/**
 * Versions before 3.51.3 lose committed pages where one process, or thread, commits while another moves the log of the WAL mode into the
 * file (https://sqlite.org/wal.html#walresetbug). Two older lines have the correction, too.
 */
export function losesCommits(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  if (major !== 3 || minor < 7 || minor > 51) return false;
  return !(minor === 51 && patch >= 3) && !(minor === 50 && patch >= 7) && !(minor === 44 && patch >= 6);
}

/** Keeps other processes away from a file that this version of SQLite could damage together with them. */
export const KEEP_TO_ITSELF = 'PRAGMA locking_mode = EXCLUSIVE';

export function warnOfLosses(version: string): void {
  const what =
    `SQLite ${version} can lose committed data where several processes use one file, so this process keeps the file to itself. ` +
    'SQLite 3.51.3 and later can share it: docs/guides/databases.md#sqlite';
  process.emitWarning(what, { code: 'AMBIT_TX_BUSY' });
}
