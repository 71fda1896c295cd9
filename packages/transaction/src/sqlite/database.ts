import type Libsql from 'libsql';
import type { ExecuteResult, ExecuteOptions } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { commandOf, countsRows } from '../sql/command.js';
import { firstWords } from '../sql/control-statements.js';
import { SQLITE, tokensOf } from '../sql/lexer.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import { wantsArrays } from '../core/options.js';
import { isBusy, leavesStatementBusy } from './errors.js';
import { cannotOpen, checkFile } from './file.js';
import type { OpenFiles } from './open-files.js';
import type { SqliteSession } from './driver.js';

/** Of all PRAGMAs with a value, those that change nothing or the file itself. */
const HARMLESS =
  /^\s*pragma\s+(?:\w+\s*\.\s*)?(?:table_x?info|table_list|index_x?info|index_list|foreign_key_list|foreign_key_check|integrity_check|quick_check|wal_checkpoint|optimize|incremental_vacuum|user_version|application_id)\b/i;
/** Some PRAGMAs take effect as soon as they are prepared, so EXPLAIN does not stop them. */
const EXPLAIN = /^explain (?:query plan ?)?/;
/** However it is quoted. A column of that name costs a new connection, no more. */
const TEMPORARY = /\btemp(?:orary)?\b/i;
const HAS_VALUE = /[=(]/;
const QUERY_ONLY = /\bquery_only\b/i;

/** Whether a statement leaves settings, an attached database or a temporary table with its connection. */
export function changesSession(sql: string): boolean {
  const start = startOf(sql);
  if (start.startsWith('pragma')) return HAS_VALUE.test(sql) && !HARMLESS.test(sql);
  if (start.startsWith('create')) return TEMPORARY.test(sql);
  return /^(?:attach|detach)\b/.test(start);
}

/** Whether a statement would let a read-only connection write. */
export function allowsWriting(sql: string): boolean {
  return QUERY_ONLY.test(sql) && HAS_VALUE.test(sql) && startOf(sql).startsWith('pragma');
}

function isExplain(sql: string): boolean {
  return firstWords(sql, SQLITE).startsWith('explain');
}

function startOf(sql: string): string {
  return firstWords(sql, SQLITE).replace(EXPLAIN, '');
}

export type DriverStatement = ReturnType<InstanceType<typeof Libsql>['prepare']>;
type Row = Record<string, unknown>;
type SqliteValue = bigint | number | string | Uint8Array | null;
type Ask = (values: readonly unknown[]) => Row[];

/** The driver adds this column to a row that is asked for with get(). */
const METADATA = '_metadata';
const INT64 = 2n ** 63n;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

export class PreparedStatement {
  readonly changesSession: boolean;
  /** Another one of the driver for the same statement. */
  readonly prepare: () => DriverStatement;
  readonly #ways: Ways;
  readonly #count: number;

  constructor(libsql: InstanceType<typeof Libsql>, sql: string) {
    // libsql would run the first and forget the rest.
    if (isScriptInSqlite(sql)) throw severalStatements();
    const { text, count } = numberedParameters(sql);
    this.prepare = () => libsql.prepare(text).safeIntegers();
    this.#ways = waysToAsk(this.prepare, sql);
    this.#count = count;
    this.changesSession = changesSession(sql);
  }

  run(params: readonly unknown[], locked: boolean): Row[] {
    const values = this.valuesOf(params);
    return locked ? this.#ways.locked(values) : this.#ways.unlocked(values);
  }

  /** The values as the driver binds them. */
  valuesOf(params: readonly unknown[]): SqliteValue[] {
    return sqliteValues(params, this.#count);
  }
}

interface Ways {
  /** For a connection that has the file's write lock, and so cannot find the file busy. */
  readonly locked: Ask;
  readonly unlocked: Ask;
}

/** Asks for no more rows than there can be: of an unknown number the driver makes two calls and an array of a hundred. */
function waysToAsk(prepare: () => DriverStatement, sql: string): Ways {
  const statement = prepare();
  if (!statement.reader) return { locked: askingForOne(prepare), unlocked: askingForNone(statement) };
  if (isExplain(sql)) {
    const ask: Ask = (values) => planOf<Row>(prepare(), values).map(withOurValues);
    return { locked: ask, unlocked: ask };
  }
  const ask = givesOneRow(statement, sql) ? askingForOne(prepare, statement) : askingForAll(statement);
  return { locked: ask, unlocked: ask };
}

/** A statement that found the file busy stays in progress; run(), slower than get(), can continue it. */
function askingForNone(statement: DriverStatement): Ask {
  return (values) => {
    statement.run(values);
    return [];
  };
}

function askingForAll(statement: DriverStatement): Ask {
  return (values) => (statement.all(values) as Row[]).map(withOurValues);
}

/**
 * An EXPLAIN is in progress for SQLite until it is reset, and no COMMIT succeeds until then; only get() resets it. None is used twice:
 * once tables have changed, an older plan names them by memory that is free, and the driver crashes the process over what is there.
 */
function planOf<R extends object>(statement: DriverStatement, values: readonly unknown[]): R[] {
  const rows = statement.all(values) as R[];
  statement.get(values);
  return rows;
}

function askingForOne(prepare: () => DriverStatement, first?: DriverStatement): Ask {
  let statement = first;
  return (values) => {
    const asked = (statement ??= prepare());
    // Where get() fails, the driver leaves the statement bound to these values, also for the next caller.
    statement = undefined;
    const row = asked.get(values) as Row | undefined;
    statement = asked;
    return row ? [withOurValues(withoutMetadata(row))] : [];
  };
}

function givesOneRow(statement: DriverStatement, sql: string): boolean {
  return endsWithLimitOne(sql) && !statement.columns().some(({ name }) => name === METADATA);
}

function endsWithLimitOne(sql: string): boolean {
  let [first, beforeLast, last]: string[] = [];
  for (const { kind, text } of tokensOf(sql, SQLITE)) {
    if (kind === 'space' || kind === 'comment') continue;
    first ??= text.toLowerCase();
    beforeLast = last;
    last = text.toLowerCase();
  }
  return (first === 'select' || first === 'with') && beforeLast === 'limit' && last === '1';
}

/** A copy: a row of which something was deleted is slow ever after. */
function withoutMetadata(row: Row): Row {
  const cells: Row = {};
  for (const name in row) if (name !== METADATA) cells[name] = row[name];
  return cells;
}

function withOurValues(row: Row): Row {
  for (const name in row) {
    const value = row[name];
    // Most values are of neither type, and need no call.
    if (typeof value === 'bigint' || typeof value === 'object') row[name] = ourValue(value);
  }
  return row;
}

/**
 * libsql gives an ArrayBuffer where every other driver gives a Buffer. Integers are asked for as bigints, since as numbers
 * they would be rounded: those beyond the safe range become text, which is what PostgreSQL gives for any bigint.
 */
function ourValue(value: unknown): unknown {
  if (typeof value === 'bigint') return value > MAX_SAFE || value < -MAX_SAFE ? String(value) : Number(value);
  return value instanceof ArrayBuffer ? Buffer.from(value) : value;
}

/** Replaces `$n` by `?n`: SQLite would bind `$2` before `$1` when it comes first in the text. */
export function numberedParameters(sql: string): { text: string; count: number } {
  let text = '';
  let count = 0;
  for (const token of tokensOf(sql, SQLITE)) {
    const isNumbered = token.kind === 'parameter' && token.text.startsWith('$');
    text += isNumbered ? token.text.replace('$', '?') : token.text;
    if (isNumbered) count = Math.max(count, Number(token.text.slice(1)));
  }
  return { text, count };
}

/** The values in types that libsql can bind: a boolean aborts the process, and text is cut at a NUL. */
function sqliteValues(params: readonly unknown[], count: number): SqliteValue[] {
  if (params.length !== count) {
    const found = `${params.length} parameters were passed`;
    throw new TransactionError('AMBIT_TX_PARAMETER', `The statement has ${count} parameters and ${found}`, {
      sqlState: '08P01',
    });
  }
  return params.map((value, index) => sqliteValue(value, index + 1));
}

export function sqliteValue(value: unknown, position: number): SqliteValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') {
    if (value.includes('\0')) throw refused(position, 'has a NUL character', '22021');
    return value;
  }
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value === 'number') {
    if (Number.isNaN(value)) throw refused(position, 'is not a number', '22003');
    // libsql stores a JavaScript number as REAL, and a bigint as INTEGER.
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  if (typeof value === 'bigint') {
    if (value < -INT64 || value >= INT64) throw refused(position, 'needs more than 64 bits', '22003');
    return value;
  }
  if (value instanceof Uint8Array) return value;
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  throw refused(position, `is ${describe(value)}; convert it to text first`, '42804');
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  return value instanceof Date ? 'an invalid date' : `of type ${typeof value}`;
}

function refused(position: number, why: string, sqlState: string): TransactionError {
  return new TransactionError('AMBIT_TX_PARAMETER', `Parameter $${position} ${why}`, { sqlState });
}

export function severalStatements(): TransactionError {
  const what = 'query() takes one statement; splitStatements() makes them of a script';
  return new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '42601' });
}

/** The result of a statement that gives rows, from the driver's arrays. */
export function resultOfRows(
  rows: readonly (readonly unknown[])[],
  names: readonly string[],
  { command, asArrays }: { command: string; asArrays: boolean },
): ExecuteResult<never> {
  const values = rows.map((row) => row.map(ourValue));
  const given = asArrays ? values : values.map((row) => asObject(row, names));
  return {
    rows: given as never[],
    rowCount: countsRows(command) ? rows.length : null,
    command,
    fields: names.map((name) => ({ name })),
  };
}

export function resultOfChanges(changes: number, rowid: number | bigint, command: string): ExecuteResult<never> {
  const result = { rows: [], rowCount: countsRows(command) ? changes : null, command, fields: [] };
  // Without an INSERT it is that of an earlier one.
  return command === 'INSERT' && changes > 0 ? { ...result, insertId: Number(rowid) } : result;
}

function asObject(row: readonly unknown[], names: readonly string[]): object {
  const cells: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) cells[name] = row[index];
  return cells;
}

/** A statement of `execute()`. It asks for rows as arrays, since an object has only one value for two columns of the same name. */
export class DescribedStatement {
  readonly #prepared: PreparedStatement;
  readonly #statement: DriverStatement;
  readonly #command: string;
  readonly #isExplain: boolean;

  constructor(prepared: PreparedStatement, sql: string) {
    this.#prepared = prepared;
    const statement = prepared.prepare();
    this.#statement = statement.reader ? statement.raw() : statement;
    this.#command = commandOf(sql, SQLITE);
    this.#isExplain = isExplain(sql);
  }

  execute(params: readonly unknown[], asArrays: boolean): ExecuteResult<never> {
    const values = this.#prepared.valuesOf(params);
    const statement = this.#statement;
    const command = this.#command;
    if (!statement.reader) {
      const { changes, lastInsertRowid } = statement.run(values);
      return resultOfChanges(changes, lastInsertRowid, command);
    }
    const rows = this.#isExplain
      ? planOf<unknown[]>(this.#prepared.prepare().raw(), values)
      : (statement.all(values) as unknown[][]);
    const names = statement.columns().map(({ name }) => name);
    return resultOfRows(rows, names, { command, asArrays });
  }
}

/** Blocks the event loop, so it is for the moment of opening only: two processes may set up one file at once. */
const OPENING_BUSY_MS = 5000;
const MOST_STATEMENTS = 200;

/** One libsql connection and its prepared statements. Every call blocks until SQLite has finished. */
export class SqliteDatabase implements SqliteSession {
  /** One that was closed says so itself: its errors are those of a closed pool. */
  readonly isOpen = true;
  /** Those of all connections of its pool. */
  files: OpenFiles | undefined = undefined;
  readonly #driver: typeof Libsql;
  readonly #path: string;
  readonly #readOnly: boolean;
  /** In the order in which they were prepared, so the first is the one to forget. */
  readonly #statements = new Map<string, PreparedStatement>();
  readonly #described = new Map<string, DescribedStatement>();
  #libsql: InstanceType<typeof Libsql>;
  /** How and what was run that found the file busy. Until it is run again or its connection is closed, no COMMIT succeeds. */
  #busyStatement: string | undefined;
  /** A statement has left something that must not reach the next user of the connection. */
  #sessionChanged = false;
  /** A transaction that may write is open: the file's write lock is ours. */
  #locked = false;
  #closed = false;

  /** The driver is passed in, so that pools over other drivers of SQLite load no libsql. */
  constructor(driver: typeof Libsql, path: string, { readOnly = false } = {}) {
    this.#driver = driver;
    this.#path = path;
    this.#readOnly = readOnly;
    this.#libsql = this.#open();
  }

  get inTransaction(): boolean {
    // Asked for a closed connection, the driver aborts the process.
    return this.#libsql.open && this.#libsql.inTransaction;
  }

  /** The driver's own error is thrown, so that a caller may try again when it says busy. */
  #query(sql: string, params: readonly unknown[]): never[] {
    this.#discardBusy(sql);
    try {
      const rows = this.#prepare(sql).run(params, this.#locked) as never[];
      this.#busyStatement = undefined;
      return rows;
    } catch (error) {
      if (leavesStatementBusy(error)) this.#busyStatement = sql;
      throw error;
    }
  }

  /** By a prepared statement of its own. */
  #execute(sql: string, params: readonly unknown[], options: ExecuteOptions): ExecuteResult<never> {
    const asArrays = wantsArrays(options);
    const name = `execute ${sql}`;
    this.#discardBusy(name);
    try {
      const prepared = this.#prepare(sql);
      const described =
        this.#described.get(sql) ?? remember(this.#described, sql, new DescribedStatement(prepared, sql));
      const result = described.execute(params, asArrays);
      this.#busyStatement = undefined;
      return result;
    } catch (error) {
      if (leavesStatementBusy(error)) this.#busyStatement = name;
      throw error;
    }
  }

  run(sql: string, params: readonly unknown[], options?: ExecuteOptions): ExecuteResult<never> {
    if (options) return this.#execute(sql, params, options);
    return { rows: this.#query(sql, params), rowCount: null, command: '', fields: [] };
  }

  exec(sql: string): void {
    this.#discardBusy(sql);
    try {
      this.#usable().exec(sql);
    } catch (error) {
      // A statement of this connection is still in progress, and would make every later COMMIT fail, too.
      if (sql === 'COMMIT' && isBusy(error)) this.#sessionChanged = true;
      throw error;
    }
    if (!sql.startsWith('PRAGMA')) this.#locked = sql === 'BEGIN IMMEDIATE';
  }

  rollbackIfOpen(): void {
    this.#locked = false;
    if (this.inTransaction) this.exec('ROLLBACK');
  }

  /** Before the next user: session state is discarded with its connection, except in memory, where the connection is the database. */
  cleanUp(): void {
    if (!this.#sessionChanged || this.#path === ':memory:') return;
    this.#sessionChanged = false;
    this.discard();
  }

  /** For a connection that cannot even roll back; the next use opens another. libsql keeps file handles: keep it rare. */
  discard(): void {
    this.#busyStatement = undefined;
    this.#statements.clear();
    this.#described.clear();
    if (this.#libsql.open) this.#libsql.close();
  }

  close(): void {
    this.#closed = true;
    this.discard();
  }

  /** Only of the connection that is open: another one would have other files. */
  pragma(text: string): readonly unknown[] {
    if (!this.#libsql.open) throw new Error('The connection is closed');
    return Object.values((this.#libsql.prepare(`PRAGMA ${text}`).all() as object[])[0] ?? {});
  }

  /** Moves what is committed from the `-wal` file into the database, as far as other processes let us. */
  checkpoint(): void {
    try {
      if (this.#libsql.open) this.#libsql.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // It is as durable in the one as in the other.
    }
  }

  #discardBusy(sql: string): void {
    if (this.#busyStatement !== undefined && this.#busyStatement !== sql && !this.inTransaction) this.discard();
  }

  #usable(): InstanceType<typeof Libsql> {
    // Closing has rolled back, so this is a definite response to a COMMIT too.
    if (this.#closed) throw new TransactionError('AMBIT_TX_POOL_CLOSED', 'The pool is closed', { sqlState: '08003' });
    if (!this.#libsql.open) {
      // Opening would create a file that is missing, and read another one that is in its place.
      this.files?.check();
      this.#libsql = this.#open();
    }
    return this.#libsql;
  }

  #open(): InstanceType<typeof Libsql> {
    checkFile(this.#path);
    try {
      const libsql = new this.#driver(this.#path, { timeout: OPENING_BUSY_MS });
      libsql.exec(
        'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 0',
      );
      // Reads the schema, so that a damaged file is found now.
      libsql.exec('SELECT 1 FROM sqlite_schema LIMIT 1');
      if (this.#readOnly) libsql.exec('PRAGMA query_only = ON');
      return libsql;
    } catch (error) {
      throw cannotOpen(this.#path, error);
    }
  }

  #prepare(sql: string): PreparedStatement {
    const statement = this.#prepared(sql);
    if (statement.changesSession) this.#sessionChanged = true;
    return statement;
  }

  #prepared(sql: string): PreparedStatement {
    return this.#statements.get(sql) ?? remember(this.#statements, sql, new PreparedStatement(this.#usable(), sql));
  }
}

function remember<T>(statements: Map<string, T>, sql: string, statement: T): T {
  statements.set(sql, statement);
  const [oldest] = statements.keys();
  if (statements.size > MOST_STATEMENTS && oldest !== undefined) statements.delete(oldest);
  return statement;
}
