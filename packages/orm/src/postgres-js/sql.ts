import { readFile } from 'node:fs/promises';
import { type ExecuteOptions, type ExecuteResult, splitStatements, TransactionError } from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import { refusalOf, withStackOf } from '../errors.js';
import { ELEMENTS, FIRST_CREATED, parseArray, TYPES } from '../postgres-types.js';
import { beginOptionsIn } from '../statement-transaction.js';
import { executorOf, hasCursor, ownTransaction, resultsInChunks, type Target } from '../target.js';
import type { Column, PostgresJs, Query } from './library.js';
import { type Statement, statementOf } from './statement.js';

type Cells = (string | null)[];
type Work = (sql: object) => unknown;

const ROWS_AT_A_TIME = 100;
/** postgres.js parses the text of the values itself. */
const TEXTS: ExecuteOptions = { rowMode: 'array', types: { getTypeParser: () => (text) => text } };

/** The array types that were created in the database, by the options of a `postgres()`; 0 where a type is no array. */
const created = new WeakMap<object, Map<number, number>>();

/** The library would read the numbers of arrays from the server when it connects. */
function knowTypes(options: PostgresJs['options']): Map<number, number> {
  for (const { oid, arrayOid } of TYPES.values()) options.shared.typeArrayMap[oid] ??= arrayOid;
  const arrays = new Map<number, number>();
  created.set(options, arrays);
  return arrays;
}

/** As the library's own. Its further fields are not enumerable. */
class Result extends Array<unknown> {
  declare count: number | null;
  declare command: string;
  declare columns: readonly Column[] | undefined;
  declare statement: object;

  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }
}

function resultOf(rows: readonly unknown[], fields: object): Result {
  const result = new Result();
  result.push(...rows);
  for (const [name, value] of Object.entries(fields)) Object.defineProperty(result, name, { value, writable: true });
  return result;
}

/** `sql` of postgres.js, whose queries are sent to a target of ours. */
export class ScopedSql {
  readonly sql: PostgresJs;
  readonly #target: Target;
  readonly #library: PostgresJs;
  readonly #createdArrays: Map<number, number>;

  constructor(target: Target, library: PostgresJs) {
    const { options } = library;
    this.#target = target;
    this.#library = library;
    this.#createdArrays = created.get(options) ?? knowTypes(options);
    this.sql = this.#scoped();
  }

  #scoped(): PostgresJs {
    const library = this.#library;
    const sql = (first: unknown, ...rest: unknown[]): object => {
      const made = library(first, ...rest);
      return made instanceof Promise ? this.#own(made as Query) : made;
    };
    return Object.assign(sql, library, {
      unsafe: (...args: Parameters<PostgresJs['unsafe']>) => this.#own(library.unsafe(...args)),
      file: (path: string, ...args: unknown[]) => this.#own(library.unsafe('', ...args), path),
      notify: (channel: string, payload: unknown) =>
        this.#own(library.unsafe('SELECT pg_notify($1, $2)', [channel, String(payload)])),
      begin: (...args: [Work] | [string, Work]) => this.#nested(...args),
      savepoint: (...args: [Work] | [string, Work]) => this.#nested(args.at(-1) as Work),
      // It belongs to the transaction.
      reserve: () => Promise.resolve(Object.assign(this.#scoped(), { release: () => undefined })),
      close: () => Promise.resolve(),
      end: () => Promise.resolve(),
      listen: () => refused('sql.listen()'),
      subscribe: () => refused('sql.subscribe()'),
      largeObject: () => refused('sql.largeObject()'),
      prepare: () => {
        throw unsupported('sql.prepare()');
      },
    });
  }

  /** A transaction of postgres.js. Where its callback returns queries, it waits for all of them. */
  #nested(...args: [Work] | [options: string, Work]): Promise<unknown> {
    const { transaction } = this.#target;
    if (!transaction) return Promise.reject(ownTransaction('postgres.js', 'postgresJsOn'));
    const [options, work] = args.length === 1 ? ['', args[0]] : args;
    const run = async (): Promise<unknown> => {
      const made = work(this.sql);
      return Array.isArray(made) ? Promise.all(made) : made;
    };
    return transaction.runNested(run, beginOptionsIn(options));
  }

  /** The query is sent when somebody waits for it. The library shows in errors where a query was written, and so do we. */
  #own(query: Query, path?: string): Query {
    const written = { stack: '' };
    Error.captureStackTrace(written, this.sql);
    query.handler = (awaited) => void this.#handle(awaited, written, path);
    query.canceller = () => refused('cancel() of a query');
    return query;
  }

  async #handle(query: Query, written: { readonly stack: string }, path?: string): Promise<void> {
    query.active = true;
    let statement: Statement | undefined;
    try {
      if (path !== undefined) query.strings = [await readFile(path, 'utf8')];
      statement = statementOf(this.#library, query);
      const result = await this.#run(query, statement);
      // Read after the wait, because an iteration replaces it.
      query.resolve(result);
    } catch (error) {
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what was thrown is passed on
      query.reject(this.#errorOf(error, query, statement, written));
    }
  }

  async #run(query: Query, statement: Statement): Promise<unknown> {
    if (query.onlyDescribe) throw unsupported('describe() of a query');
    if (query.streaming) throw unsupported('COPY');
    if (query.cursorFn) return this.#throughCursor(query, statement);
    if (query.forEachFn) return this.#forEach(query, statement);
    const { text, values } = statement;
    const isScript = !values && this.#target.transaction && text.includes(';');
    const [first = text, ...others] = isScript ? splitStatements(text) : [];
    const result = await this.#executed(query, { ...statement, text: first });
    if (others.length === 0) return result;
    const results = [result];
    for (const other of others) results.push(await this.#executed(query, { ...statement, text: other }));
    return results;
  }

  async #executed(query: Query, { text, values, types }: Statement): Promise<Result> {
    const { prepare = true } = query.options;
    const options = { ...TEXTS, prepare: this.#library.options.prepare && prepare };
    const result = await executeOn<Cells>(executorOf(this.#target), text, values, options);
    return this.#parsed(query, result, { string: text, types });
  }

  /** An iteration replaces `cursorFn` for each chunk. */
  async #throughCursor(query: Query, statement: Statement): Promise<Result> {
    for await (const result of this.#chunks(statement, query.cursorRows ?? 1)) {
      if (result.rows.length === 0) continue;
      const chunk = await this.#parsed(query, result, { string: statement.text, types: statement.types });
      if ((await query.cursorFn?.(chunk)) === this.#library.CLOSE) break;
    }
    return resultOf([], { count: 0, command: 'SELECT' });
  }

  async #forEach(query: Query, statement: Statement): Promise<Result> {
    let count = 0;
    for await (const result of this.#chunks(statement, ROWS_AT_A_TIME)) {
      const chunk = await this.#parsed(query, result, { string: statement.text, types: statement.types });
      for (const row of chunk) query.forEachFn?.(row, chunk);
      count += chunk.length;
    }
    return resultOf([], { count, command: 'SELECT' });
  }

  /** Through a cursor of PostgreSQL where it has one for the statement, and otherwise all at once. */
  async *#chunks({ text, values = [] }: Statement, size: number): AsyncGenerator<ExecuteResult<Cells>> {
    const { transaction } = this.#target;
    if (transaction && hasCursor(text)) {
      yield* resultsInChunks<Cells>(transaction.connection, text, values, size, TEXTS);
      return;
    }
    const result = await executeOn<Cells>(executorOf(this.#target), text, values, TEXTS);
    for (let start = 0; start < result.rows.length; start += size) {
      yield { ...result, rows: result.rows.slice(start, start + size) };
    }
  }

  async #parsed({ isRaw }: Query, result: ExecuteResult<Cells>, statement: object): Promise<Result> {
    const { column, value, row } = this.#library.options.transform;
    await this.#learnArrays(result);
    const columns = result.fields.map(({ name, dataTypeID = 0 }) => ({
      name: column.from?.(name) ?? name,
      type: dataTypeID,
      parser: this.#parserOf(dataTypeID),
    }));
    const cellOf = (cell: string | null, index: number): unknown => {
      if (isRaw === true) return cell === null ? null : Buffer.from(cell);
      const at = columns[index] as Column;
      const parsed = cell === null ? null : (at.parser?.(cell) ?? cell);
      return value.from ? value.from(parsed, at) : parsed;
    };
    const rows = result.rows.map((cells) => {
      const values = cells.map(cellOf);
      const given = isRaw ? values : Object.fromEntries(columns.map(({ name }, index) => [name, values[index]]));
      return row.from ? row.from(given) : given;
    });
    const { rowCount: count, command } = result;
    return resultOf(rows, {
      count,
      command,
      state: undefined,
      columns: columns.length > 0 ? columns : undefined,
      statement: { ...statement, columns },
    });
  }

  #parserOf(type: number): Column['parser'] {
    const { parsers } = this.#library.options;
    if (parsers[type]) return parsers[type];
    const element = ELEMENTS.get(type) ?? this.#createdArrays.get(type);
    return element ? (text) => parseArray(text, parsers[element] ?? String, type) : undefined;
  }

  /** Which of the created types are arrays is read once, where the library would read it when it connects. */
  async #learnArrays({ fields }: ExecuteResult<Cells>): Promise<void> {
    const known = this.#createdArrays;
    const isNew = (type: number): boolean => type >= FIRST_CREATED && !known.has(type);
    const types = fields.map(({ dataTypeID = 0 }) => dataTypeID).filter(isNew);
    if (types.length === 0 || !this.#library.options.fetch_types) return;
    const sql = `SELECT oid::int4, CASE typcategory WHEN 'A' THEN typelem::int4 ELSE 0 END AS element FROM pg_type WHERE oid = ANY($1::text::oid[])`;
    const { rows } = await executeOn<{ oid: number; element: number }>(executorOf(this.#target), sql, [
      `{${types.join()}}`,
    ]);
    for (const { oid, element } of rows) known.set(oid, element);
  }

  #errorOf(
    error: unknown,
    query: Query,
    statement: Statement | undefined,
    written: { readonly stack: string },
  ): unknown {
    const { PostgresError, options } = this.#library;
    const refusal = refusalOf(error);
    const { message, ...fields } = refusal?.postgresJs ?? {};
    const given = refusal
      ? Object.assign(new PostgresError({ message, ...fields, severity_local: fields.severity }), refusal.outcome)
      : error;
    if (!(given instanceof Error)) return given;
    const enumerable = Boolean(options.debug);
    const { text, parameters, types } = statement ?? {};
    Object.defineProperties(given, {
      query: { value: text, enumerable, configurable: true },
      parameters: { value: parameters, enumerable, configurable: true },
      args: { value: query.args, enumerable, configurable: true },
      types: { value: types, enumerable, configurable: true },
    });
    return withStackOf(written, given);
  }
}

function unsupported(what: string): TransactionError {
  return new TransactionError(
    'AMBIT_TX_UNSUPPORTED',
    `${what} was called on postgresJsOn(): it needs a connection of postgres.js itself, which is not part of the transaction`,
  );
}

function refused(what: string): Promise<never> {
  return Promise.reject(unsupported(what));
}
