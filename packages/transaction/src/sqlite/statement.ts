import type Libsql from 'libsql';
import { TransactionError } from '../core/errors.js';
import { SQLITE, tokensOf } from '../sql/lexer.js';
import { isScriptInSqlite } from '../sql/split-statements.js';
import { numberedParameters, sqliteValues } from './parameters.js';
import { changesSession, isExplain } from './session-state.js';

type DriverStatement = ReturnType<InstanceType<typeof Libsql>['prepare']>;
type Row = Record<string, unknown>;
type Ask = (values: readonly unknown[]) => Row[];

/** What the driver adds to a row that is asked for alone. */
const METADATA = '_metadata';
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

export class PreparedStatement {
  readonly changesSession: boolean;
  readonly #ways: Ways;
  readonly #count: number;

  constructor(libsql: InstanceType<typeof Libsql>, sql: string) {
    // libsql would run the first and forget the rest.
    if (isScriptInSqlite(sql)) throw severalStatements();
    const { text, count } = numberedParameters(sql);
    this.#ways = waysToAsk(() => libsql.prepare(text).safeIntegers(), sql);
    this.#count = count;
    this.changesSession = changesSession(sql);
  }

  run(params: readonly unknown[], locked: boolean): Row[] {
    const values = sqliteValues(params, this.#count);
    return locked ? this.#ways.locked(values) : this.#ways.unlocked(values);
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
    const ask = askingForPlan(statement);
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

/** An EXPLAIN is in progress for SQLite until it is reset, and no COMMIT succeeds until then; only get() resets it. */
function askingForPlan(statement: DriverStatement): Ask {
  const ask = askingForAll(statement);
  return (values) => {
    const rows = ask(values);
    statement.get(values);
    return rows;
  };
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

/**
 * libsql gives an ArrayBuffer where every other driver gives a Buffer. Integers are asked for as bigints, since as numbers
 * they would be rounded: those beyond the safe range become text, which is what PostgreSQL gives for any bigint.
 */
function withOurValues(row: Row): Row {
  for (const name in row) {
    const value = row[name];
    if (typeof value === 'bigint') row[name] = value > MAX_SAFE || value < -MAX_SAFE ? String(value) : Number(value);
    else if (value instanceof ArrayBuffer) row[name] = Buffer.from(value);
  }
  return row;
}

function severalStatements(): TransactionError {
  return new TransactionError(
    'AMBIT_TX_STATEMENT_FAILED',
    'query() takes one statement; splitStatements() makes them of a script',
    {
      sqlState: '42601',
    },
  );
}
