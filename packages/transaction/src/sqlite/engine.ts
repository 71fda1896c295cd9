import type { Clock } from '../core/clock.js';
import { connectionLost } from '../core/connection-errors.js';
import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { wantsArrays } from '../core/options.js';
import type { Language, Wire } from '../driver/driver.js';
import { commandOf } from '../sql/command.js';
import { SQLITE } from '../sql/lexer.js';
import { PositionalTexts } from '../sql/positional.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import { isBusy, translated } from './errors.js';
import { retryBusy } from './retry-busy.js';
import { allowsWriting, changesSession } from './session-state.js';
import { resultOfChanges, resultOfRows } from './result.js';
import { severalStatements, sqliteValue } from './statement.js';

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

export const SQLITE_LANGUAGE: Language = {
  // A transaction that may write takes the lock at once, so that no later statement can find it taken.
  begin: ({ readOnly = false }) => [readOnly ? 'BEGIN' : 'BEGIN IMMEDIATE'],
  check: (sql, { readOnly }) => {
    if (!readOnly || !allowsWriting(sql)) return;
    const what = 'A read-only connection cannot change query_only';
    throw new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '25006' });
  },
  leavesSessionState: () => false,
  translate: (error, isLost) => (isLost ? connectionLost(error, '08003') : translated(error)),
};

/** One connection over an engine, handed out in turn. Prepared statements are kept for the next user. */
export class EngineWire implements Wire {
  readonly synchronous = true;
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #busyTimeoutMs: number;
  readonly #texts = new PositionalTexts(SQLITE);
  readonly #statements = new Map<string, EngineStatement>();
  #readOnly = false;
  /** Whose BEGIN may wait: the next user gets another object, so that an earlier wait stays unwanted. */
  #user = { isWanted: true };

  constructor(engine: Engine, { clock, busyTimeoutMs }: { clock: Clock; busyTimeoutMs: number }) {
    this.#engine = engine;
    this.#clock = clock;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  get isLost(): boolean {
    return !this.#engine.isOpen;
  }

  async send(sql: string, params?: readonly unknown[], options: ExecuteOptions = {}): Promise<ExecuteResult<never>> {
    if (params) return this.#run(sql, params, wantsArrays(options));
    if (sql.startsWith('BEGIN')) await this.#begin(sql);
    else if (sql !== 'ROLLBACK' || this.#engine.inTransaction) this.#engine.exec(sql);
    return { rows: [], rowCount: null, command: commandOf(sql, SQLITE), fields: [] };
  }

  /** Statements block until they are done, so all there is to stop is the wait for another process at BEGIN. */
  cancel(): void {
    this.#user.isWanted = false;
  }

  release(): void {
    this.#user.isWanted = false;
    this.#user = { isWanted: true };
    if (this.isLost) return;
    if (this.#engine.inTransaction) this.#engine.exec('ROLLBACK');
    this.#setReadOnly(false);
  }

  #begin(sql: string): void | Promise<void> {
    const attempt = (): void => {
      this.#setReadOnly(sql === 'BEGIN');
      this.#engine.exec(sql);
    };
    try {
      attempt();
    } catch (error) {
      if (!isBusy(error) || this.#busyTimeoutMs === 0) throw error;
      const user = this.#user;
      const isWanted = (): boolean => user.isWanted;
      return retryBusy(attempt, error, { clock: this.#clock, timeoutMs: this.#busyTimeoutMs, isWanted });
    }
  }

  /** SQLite then prepares every statement again, so only where it changes. */
  #setReadOnly(on: boolean): void {
    if (on === this.#readOnly) return;
    this.#engine.exec(`PRAGMA query_only = ${on ? 'ON' : 'OFF'}`);
    this.#readOnly = on;
  }

  #run(sql: string, params: readonly unknown[], asArrays: boolean): ExecuteResult<never> {
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
