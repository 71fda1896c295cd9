import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { wantsArrays } from '../core/options.js';
import { type DriverPoolOptions, readDriverOptions } from '../pool/options.js';
import { Pool } from '../pool/pool.js';
import { commandOf } from '../sql/command.js';
import { SQLITE } from '../sql/lexer.js';
import { PositionalTexts } from '../sql/positional.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import { changesSession, resultOfChanges, resultOfRows, severalStatements, sqliteValue } from './database.js';
import { SQLITE_LANGUAGE, type SqliteSession, SqliteWire } from './driver.js';

/** One statement of a driver that calls SQLite directly. */
export interface EngineStatement {
  /** Whether it gives rows. */
  readonly isReader: boolean;
  /** The names of its columns, as they were when it was last run: a table may be changed. */
  columns(): readonly string[];
  /** Rows as arrays, integers as bigints. */
  all(values: readonly unknown[]): unknown[][];
  /** How many rows it changed, and the rowid that was inserted last. */
  run(values: readonly unknown[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
}

/** A driver that calls SQLite directly: every call has finished when it returns. Errors have SQLite's names in `code`. */
export interface Engine {
  readonly isOpen: boolean;
  readonly inTransaction: boolean;
  prepare(sql: string): EngineStatement;
  exec(sql: string): void;
  close(): void;
}

const MOST_STATEMENTS = 200;

/** The pool over an engine: one connection, handed out in turn. */
export function poolOver(engine: Engine, options: DriverPoolOptions): Pool {
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

/** Prepared statements are kept for the next user. */
class EngineSession implements SqliteSession {
  readonly #engine: Engine;
  readonly #texts = new PositionalTexts(SQLITE);
  readonly #statements = new Map<string, EngineStatement>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get isOpen(): boolean {
    return this.#engine.isOpen;
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

  #prepare(text: string): EngineStatement {
    if (isScriptInSqlite(text)) throw severalStatements();
    const statement = this.#engine.prepare(text);
    if (changesSession(text)) return statement;
    if (this.#statements.size >= MOST_STATEMENTS) this.#statements.clear();
    this.#statements.set(text, statement);
    return statement;
  }
}
