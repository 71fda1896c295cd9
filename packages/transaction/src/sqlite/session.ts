import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { wantsArrays } from '../core/options.js';
import { commandOf, countsRows } from '../sql/command.js';
import { firstWords } from '../sql/control-statements.js';
import { SQLITE } from '../sql/lexer.js';
import { PositionalText } from '../sql/positional.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import type { SqliteEngine, SqliteEngineStatement } from './engine.js';
import type { WatchedFile } from './file.js';
import { sqliteValue, valueOf } from './values.js';

/** PRAGMAs with a value that change nothing, or the file itself. */
const HARMLESS =
  /^\s*pragma\s+(?:\w+\s*\.\s*)?(?:table_x?info|table_list|index_x?info|index_list|foreign_key_list|foreign_key_check|integrity_check|quick_check|wal_checkpoint|optimize|incremental_vacuum|user_version|application_id)\b/i;
/** Some PRAGMAs take effect as soon as they are prepared, so EXPLAIN does not stop them. */
const EXPLAIN = /^explain (?:query plan ?)?/;
/** However it is quoted. A column of that name costs a new connection, no more. */
const TEMPORARY = /\btemp(?:orary)?\b/i;
/** The schema of temporary objects, in front of the name of what is created. */
const IN_TEMP = /\bcreate\s+(?:virtual\s+)?(?:table|view|trigger)\s+(?:if\s+not\s+exists\s+)?["'`[]?temp["'`\]]?\s*\./i;
/** The settings of a connection that cannot be replaced: they are set back for the next user. */
const SET_BACK = /^\s*pragma\s+(?:query_only|defer_foreign_keys)\b/i;
const SET_BACK_SQL = 'PRAGMA query_only = OFF; PRAGMA defer_foreign_keys = OFF';
const HAS_VALUE = /[=(]/;
const QUERY_ONLY = /\bquery_only\b/i;
/** All columns of a table, whose names change with it. `count(*)` has none. */
const ALL_COLUMNS = /(?<!\(\s*)\*/;

/** True if a statement leaves settings, an attached database or a temporary table with its connection. */
export function changesSession(sql: string): boolean {
  const start = startOf(sql);
  if (start.startsWith('pragma')) return HAS_VALUE.test(sql) && !HARMLESS.test(sql);
  if (start.startsWith('create')) return TEMPORARY.test(sql);
  return /^(?:attach|detach)\b/.test(start);
}

/** True if a statement would let a read-only connection write. */
export function allowsWriting(sql: string): boolean {
  return QUERY_ONLY.test(sql) && HAS_VALUE.test(sql) && startOf(sql).startsWith('pragma');
}

/** True if a statement leaves what only a new connection is without. */
function staysWithConnection(sql: string): boolean {
  if (startOf(sql).startsWith('create')) return startOf(sql).startsWith('create temp') || IN_TEMP.test(sql);
  return !SET_BACK.test(sql);
}

function startOf(sql: string): string {
  return firstWords(sql, SQLITE).replace(EXPLAIN, '');
}

/** One statement of an application, prepared on one connection. */
class Statement {
  /** The plan that EXPLAIN shows names tables by memory that is free once they have changed. */
  readonly isKept: boolean;
  readonly #prepared: SqliteEngineStatement;
  readonly #positional: PositionalText;
  readonly #command: string;
  /** Undefined where they are asked for after each execution, because they may have changed. */
  readonly #names: readonly string[] | undefined;

  constructor(engine: SqliteEngine, sql: string) {
    // SQLite would run the first and forget the rest.
    if (isScriptInSqlite(sql)) throw severalStatements();
    this.#positional = new PositionalText(sql, SQLITE);
    this.#prepared = engine.prepare(this.#positional.text);
    this.#command = commandOf(sql, SQLITE);
    this.#names = this.#prepared.isReader && !ALL_COLUMNS.test(sql) ? this.#prepared.columns() : undefined;
    this.isKept = !changesSession(sql) && this.#command !== 'EXPLAIN';
  }

  run(params: readonly unknown[], options: ExecuteOptions | undefined): ExecuteResult<never> {
    const asArrays = options !== undefined && wantsArrays(options);
    const values = this.#positional.valuesOf(params, sqliteValue);
    const command = this.#command;
    if (!this.#prepared.isReader) return resultOfChanges(this.#prepared.run(values), command);
    const rows = this.#prepared.all(values);
    const names = this.#names ?? this.#prepared.columns();
    return {
      rows: rows.map((row) => (asArrays ? row.map(valueOf) : asObject(row, names))) as never[],
      rowCount: countsRows(command) ? rows.length : null,
      command,
      fields: options ? names.map((name) => ({ name })) : [],
    };
  }
}

function asObject(row: readonly unknown[], names: readonly string[]): object {
  const cells: Record<string, unknown> = {};
  for (let index = 0; index < names.length; index += 1) cells[names[index] as string] = valueOf(row[index]);
  return cells;
}

function resultOfChanges(
  { changes, lastInsertRowid }: ReturnType<SqliteEngineStatement['run']>,
  command: string,
): ExecuteResult<never> {
  const result = { rows: [], rowCount: countsRows(command) ? Number(changes) : null, command, fields: [] };
  // Without an INSERT it is that of an earlier one.
  return command === 'INSERT' && Number(changes) > 0 ? { ...result, insertId: Number(lastInsertRowid) } : result;
}

function severalStatements(): TransactionError {
  const what = 'query() takes one statement; splitStatements() makes them of a script';
  return new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '42601' });
}

function refusedSetting(): TransactionError {
  const what =
    'The pool has one connection, and its next users would inherit what the statement leaves: set it on the database itself, before the pool is made';
  return new TransactionError('AMBIT_TX_UNSUPPORTED', what, { sqlState: '0A000' });
}

const MOST_STATEMENTS = 200;

export interface SqliteSessionOptions {
  /** Opens the connection again after `discard()`; without it there is no other, as in memory. */
  readonly reopen?: () => SqliteEngine;
  /** Undefined in memory. */
  readonly file: WatchedFile | undefined;
}

/** One connection, used by one caller after the other, and its prepared statements. Every call blocks until SQLite has finished. */
export class SqliteSession {
  readonly #file: WatchedFile | undefined;
  /** In the order in which they were prepared, so the first is the one to forget. */
  readonly #statements = new Map<string, Statement>();
  #engine: SqliteEngine;
  #reopen: (() => SqliteEngine) | undefined;
  /** A statement has left something that must not reach the next user of the connection. */
  #changed = false;
  #readOnly = false;

  constructor(engine: SqliteEngine, { reopen, file }: SqliteSessionOptions) {
    this.#engine = engine;
    this.#reopen = reopen;
    this.#file = file;
  }

  get isOpen(): boolean {
    return this.#engine.isOpen || this.#reopen !== undefined;
  }

  get inTransaction(): boolean {
    return this.#engine.isOpen && this.#engine.inTransaction;
  }

  /** For statements of our own: no parameters, no rows. */
  exec(sql: string): void {
    this.#usable().exec(sql);
  }

  rollbackIfOpen(): void {
    if (this.inTransaction) this.#engine.exec('ROLLBACK');
  }

  /** The driver's own error is thrown, so that a caller may try again when it says busy. */
  run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): ExecuteResult<never> {
    const engine = this.#usable();
    const statement = this.#statements.get(sql) ?? this.#prepare(engine, sql);
    return statement.run(params, options);
  }

  /** SQLite then prepares every statement again, which costs more than most transactions, so only where it changes. */
  setReadOnly(on: boolean): void {
    if (on === this.#readOnly) return;
    this.exec(`PRAGMA query_only = ${on ? 'ON' : 'OFF'}`);
    this.#readOnly = on;
  }

  /** Before the next user: session state is discarded with its connection, or set back where there is no other. */
  cleanUp(): void {
    if (!this.#changed) return;
    if (this.#reopen) this.discard();
    else this.#engine.exec(SET_BACK_SQL);
    this.#changed = false;
  }

  /** For a connection that cannot even roll back, too; the next use opens another. */
  discard(): void {
    if (!this.#reopen) return;
    this.#changed = this.#readOnly = false;
    this.#statements.clear();
    this.#engine.close();
  }

  /** Moves what is committed from the `-wal` file into the database, as far as other processes let us. */
  checkpoint(): void {
    try {
      if (this.#engine.isOpen) this.#engine.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // It is as durable in the one as in the other.
    }
  }

  close(): void {
    this.#reopen = undefined;
    this.#statements.clear();
    this.#engine.close();
  }

  #usable(): SqliteEngine {
    this.#file?.check();
    if (this.#reopen && !this.#engine.isOpen) this.#engine = this.#reopen();
    return this.#engine;
  }

  #prepare(engine: SqliteEngine, sql: string): Statement {
    // Some take effect as soon as they are prepared.
    if (changesSession(sql)) {
      if (!this.#reopen && staysWithConnection(sql)) throw refusedSetting();
      this.#changed = true;
    }
    const statement = new Statement(engine, sql);
    if (!statement.isKept) return statement;
    this.#statements.set(sql, statement);
    const [oldest] = this.#statements.keys();
    if (this.#statements.size > MOST_STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
    return statement;
  }
}
