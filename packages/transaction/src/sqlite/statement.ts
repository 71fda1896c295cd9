import type Libsql from 'libsql';
import { TransactionError } from '../errors.js';
import { isScriptInSqlite } from '../split-statements.js';
import { numberedParameters } from '../sql-text.js';
import { sqliteValues } from './parameters.js';

type DriverStatement = ReturnType<InstanceType<typeof Libsql>['prepare']>;
type Row = Record<string, unknown>;
type Ask = (values: readonly unknown[]) => Row[];

/** A comment could hide another end, so a statement that may have one is asked for all its rows. */
const GIVES_ONE_ROW = /^\s*(?:select|with)\b(?!.*(?:--|\/\*)).*\blimit[ \t\n\f\r]+1$/is;
/** What the driver adds to a row that is asked for alone. */
const METADATA = '_metadata';

export class PreparedStatement {
  readonly #ask: Ask;
  readonly #count: number;

  constructor(libsql: InstanceType<typeof Libsql>, sql: string) {
    // libsql would run the first and forget the rest.
    if (isScriptInSqlite(sql)) throw severalStatements();
    const { text, count } = numberedParameters(sql);
    this.#ask = asking(() => libsql.prepare(text), sql);
    this.#count = count;
  }

  run(params: readonly unknown[]): Row[] {
    return this.#ask(sqliteValues(params, this.#count));
  }
}

/** Asks for no more rows than there can be: of an unknown number the driver makes two calls and an array of a hundred. */
function asking(prepare: () => DriverStatement, sql: string): Ask {
  const statement = prepare();
  if (!statement.reader) {
    return (values) => {
      // Not get(): one that found the file busy stays under way, and only run() can take the same statement up again.
      statement.run(values);
      return [];
    };
  }
  if (givesOneRow(statement, sql)) return askingForOne(prepare, statement);
  return (values) => (statement.all(values) as Row[]).map(withBuffers);
}

function askingForOne(prepare: () => DriverStatement, first: DriverStatement): Ask {
  let statement: DriverStatement | undefined = first;
  return (values) => {
    const asked = (statement ??= prepare());
    // Where get() fails, the driver leaves the statement bound to these values, also for the next caller.
    statement = undefined;
    const row = asked.get(values) as Row | undefined;
    statement = asked;
    return row ? [withBuffers(withoutMetadata(row))] : [];
  };
}

function givesOneRow(statement: DriverStatement, sql: string): boolean {
  return GIVES_ONE_ROW.test(sql.trimEnd()) && !statement.columns().some(({ name }) => name === METADATA);
}

/** A copy: a row of which something was deleted is slow ever after. */
function withoutMetadata(row: Row): Row {
  const cells: Row = {};
  for (const name in row) if (name !== METADATA) cells[name] = row[name];
  return cells;
}

/** libsql gives an ArrayBuffer where every other driver gives a Buffer. */
function withBuffers(row: Row): Row {
  for (const name in row) {
    const value = row[name];
    if (value instanceof ArrayBuffer) row[name] = Buffer.from(value);
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
