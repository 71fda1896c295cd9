import type { DatabasePool, ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { wantsArrays } from '../core/options.js';
import { type DriverPoolOptions, readDriverOptions } from '../pool/options.js';
import { Pool } from '../pool/pool.js';
import { commandOf } from '../sql/command.js';
import { SQLITE } from '../sql/lexer.js';
import { PositionalTexts } from '../sql/positional.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import { changesSession, resultOfChanges, resultOfRows, severalStatements, sqliteValue } from './database.js';
import { SQLITE_LANGUAGE, type SqliteSession, SqliteWire } from './driver.js';
import { OpenFiles } from './open-files.js';

/** One statement of a driver that calls SQLite directly. */
export interface SqliteEngineStatement {
  /** Whether it gives rows. */
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

/** A driver that calls SQLite directly: every call has finished when it returns. Errors have SQLite's names in `code`. */
export interface SqliteEngine {
  /** False once it is closed. */
  readonly isOpen: boolean;
  /** Whether a transaction is open. */
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

const MOST_STATEMENTS = 200;

/**
 * The pool over a driver that calls SQLite directly: one connection, handed out in turn.
 *
 * @param engine - the open database; `close()` of the pool closes it, unless `keepOpen` is set
 * @param options - who may wait for the connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { type SqliteEngine, sqlitePoolOver } from '@ambit/transaction/extension';
 *
 * const poolOverEngine = (engine: SqliteEngine) => sqlitePoolOver(engine, { acquireTimeoutMs: 2000 });
 * ```
 */
export function sqlitePoolOver(engine: SqliteEngine, options: DriverPoolOptions): DatabasePool {
  const settings = readDriverOptions(options);
  const { clock, acquireTimeoutMs } = settings;
  const session = new EngineSession(engine);
  return new Pool(
    {
      language: SQLITE_LANGUAGE,
      max: 1,
      connect: ({ timeoutMs: busyTimeoutMs = acquireTimeoutMs }) => new SqliteWire(session, { clock, busyTimeoutMs }),
      close: async () => engine.close(),
    },
    settings,
  );
}

const NOT_LOOKED_FOR = 'not looked for';

/** Prepared statements are kept for the next user. */
class EngineSession implements SqliteSession {
  readonly #engine: SqliteEngine;
  readonly #texts = new PositionalTexts(SQLITE);
  #files: OpenFiles | undefined | typeof NOT_LOOKED_FOR = NOT_LOOKED_FOR;
  readonly #statements = new Map<string, SqliteEngineStatement>();

  constructor(engine: SqliteEngine) {
    this.#engine = engine;
  }

  /** Looked for when it is first used; a database in memory has none. */
  get files(): OpenFiles | undefined {
    if (this.#files === NOT_LOOKED_FOR && this.#engine.isOpen) {
      const [, , path] = this.#pragma('database_list');
      const isFile = typeof path === 'string' && path !== '';
      this.#files = isFile ? new OpenFiles(path, (pragma) => this.#pragma(pragma)) : undefined;
    }
    return this.#files === NOT_LOOKED_FOR ? undefined : this.#files;
  }

  get isOpen(): boolean {
    return this.#engine.isOpen;
  }

  get inTransaction(): boolean {
    return this.#engine.inTransaction;
  }

  exec(sql: string): void {
    this.#engine.exec(sql);
  }

  rollbackIfOpen(): void {
    if (this.#engine.inTransaction) this.#engine.exec('ROLLBACK');
  }

  run(sql: string, params: readonly unknown[], options: ExecuteOptions = {}): ExecuteResult<never> {
    const asArrays = wantsArrays(options);
    const { text, values } = this.#texts.translate(sql, params, sqliteValue);
    const statement = this.#statements.get(text) ?? this.#prepare(text);
    const command = commandOf(sql, SQLITE);
    if (!statement.isReader) {
      const { changes, lastInsertRowid } = statement.run(values);
      return resultOfChanges(Number(changes), lastInsertRowid, command);
    }
    const rows = statement.all(values);
    return resultOfRows(rows, statement.columns(), { command, asArrays });
  }

  #pragma(text: string): readonly unknown[] {
    return this.#engine.prepare(`PRAGMA ${text}`).all([])[0] ?? [];
  }

  #prepare(text: string): SqliteEngineStatement {
    if (isScriptInSqlite(text)) throw severalStatements();
    const statement = this.#engine.prepare(text);
    if (changesSession(text)) return statement;
    if (this.#statements.size >= MOST_STATEMENTS) this.#statements.clear();
    this.#statements.set(text, statement);
    return statement;
  }
}
