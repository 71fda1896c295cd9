import { Readable, type Writable } from 'node:stream';
import knex, { type Knex } from 'knex';
import { type ExecuteOptions, type ExecuteResult, TransactionError } from '@ambit/transaction';
import { executeOn, withCallersStack } from '@ambit/transaction/extension';
import type { Savepoint } from '@ambit/transaction/extension';
import { queryErrorOf } from '../errors.js';
import { executorOf, hasCursor, ownTransaction, ROWS_AT_A_TIME, rowsInChunks, type Target } from '../target.js';

/** What Knex takes for a connection of its own: one query, or a transaction of Knex from its begin to its end. */
class KnexConnection {
  /** The transaction of Knex; a pool has none. */
  readonly savepoint: Savepoint | undefined;
  /** What a transaction of Knex was asked to be; a nested run cannot differ from the transaction around it. */
  readonly options: object;
  readonly #target: Target;

  constructor(target: Target, options: object = {}, around?: KnexConnection) {
    this.#target = target;
    this.savepoint = target.transaction?.createSavepoint(around?.savepoint);
    this.options = options;
  }

  within<T>(work: () => T): T {
    return this.savepoint ? this.savepoint.within(work) : work();
  }

  execute(sql: string, values?: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult> {
    return this.within(() => executeOn(executorOf(this.#target), sql, values, options));
  }

  /**
   * One row after the other, of which so many at a time are in memory, where a transaction is open: a cursor needs one. Where the
   * reader stops early, nobody waits for a CLOSE, which fails after a nested transaction was undone: the database closes the cursor
   * with the transaction.
   */
  async *rows(sql: string, values: readonly unknown[], batchSize: number): AsyncGenerator<object, void, undefined> {
    const { transaction } = this.#target;
    const chunks = transaction
      ? rowsInChunks(transaction.connection, sql, values, batchSize)
      : this.#inOneChunk(sql, values);
    const next = (): ReturnType<typeof chunks.next> => this.within(() => chunks.next());
    for (let chunk = await next(); !chunk.done; chunk = await next()) yield* chunk.value;
  }

  async *#inOneChunk(sql: string, values: readonly unknown[]): AsyncGenerator<object[], void, undefined> {
    yield (await this.execute(sql, values)).rows;
  }
}

/** The SQL that Knex writes, by the names that Knex gives its drivers. */
export type KnexClientName = 'pg' | 'sqlite3';

export interface ScopedConfig extends Knex.Config {
  readonly target: Target;
}

interface KnexQuery {
  readonly sql: string;
  readonly bindings?: readonly unknown[];
  readonly options?: ExecuteOptions;
  /** Where Knex looks for the result, and on SQLite for the numbers that come with it. */
  response?: unknown;
  context?: { readonly lastID: number | undefined; readonly changes: number | null };
}

interface TransactionConfig {
  readonly isolationLevel?: string;
  readonly readOnly?: boolean;
}

/** What Knex's clients have and its types do not declare: where the driver is called. Checked with Knex 3.3. */
interface DriverCalls {
  _query(connection: KnexConnection, query: KnexQuery): Promise<KnexQuery>;
  _stream(connection: KnexConnection, query: KnexQuery, target: Writable, options?: object): Promise<void>;
}

type ClientClass = new (config: Knex.Config) => Knex.Client & DriverCalls;

/** An error of the transaction on its way through Knex, which writes the SQL and its values into the message of what it catches. */
class CarriedError extends Error {
  readonly error: unknown;

  constructor(error: unknown) {
    super(error instanceof Error ? error.message : String(error), { cause: error });
    this.error = error;
  }
}

/** Made when first used, so that nobody loads a dialect that they do not use. */
const classes = new Map<KnexClientName, ClientClass>();

export function scopedClientOf(name: KnexClientName): ClientClass {
  const known = classes.get(name) ?? scopedClient(name);
  classes.set(name, known);
  return known;
}

/** Knex's own class of a dialect, which is in none of its exports. Without a `connection` it loads no driver. */
function dialectClass(client: KnexClientName): ClientClass {
  const instance = knex({ client, useNullAsDefault: true });
  return (instance.client as object).constructor as ClientClass;
}

const connections = new WeakMap<object, KnexConnection>();

/** A client of Knex that has the connection of one transaction, or a pool of ours, in place of its pool. */
function scopedClient(name: KnexClientName): ClientClass {
  const isPostgres = name === 'pg';

  class ScopedClient extends dialectClass(name) {
    declare config: ScopedConfig;

    override async acquireConnection(): Promise<KnexConnection> {
      return new KnexConnection(this.config.target);
    }

    override async releaseConnection(): Promise<void> {}

    /** The connection belongs to the transaction. */
    override async destroy(callback?: () => void): Promise<void> {
      callback?.();
    }

    /** A transaction of Knex has a connection, and so a nested run, of its own. */
    override transaction(
      container: (trx: Knex.Transaction) => unknown,
      { isolationLevel: isolation, readOnly, ...config }: TransactionConfig,
      outer: object | null,
    ): Knex.Transaction {
      const around = outer ? connections.get(outer) : undefined;
      const connection = new KnexConnection(this.config.target, { isolation, readOnly }, around);
      const work = (trx: Knex.Transaction): unknown => connection.within(() => container(trx));
      const transaction = super.transaction(work, { ...config, connection }, outer);
      connections.set(transaction, connection);
      return transaction;
    }

    /** Only a transaction of Knex itself passes a string: to begin, commit or roll back. */
    override async query(connection: KnexConnection, query: KnexQuery | string): Promise<unknown> {
      if (typeof query === 'string') return control(connection, query);
      try {
        return await super.query(connection, query);
      } catch (error) {
        throw error instanceof CarriedError ? withCallersStack(error.error) : error;
      }
    }

    /** `IConnection` takes `$1 ... $n` on every database; `\?` is a question mark. */
    override positionBindings(sql: string): string {
      let count = 0;
      return sql.replaceAll(/\\?\?/g, (match) => (match === '\\?' ? '?' : `$${(count += 1)}`));
    }

    override async _query(connection: KnexConnection, query: KnexQuery): Promise<KnexQuery> {
      const { sql, bindings = [], options } = query;
      refuseEmpty(sql);
      try {
        const values = isPostgres ? bindings : bindings.map(asDriversForSqlite);
        const result = await connection.execute(sql, values, options);
        query.response = isPostgres ? result : result.rows;
        query.context = { lastID: result.insertId, changes: result.rowCount };
        return query;
      } catch (error) {
        throw new CarriedError(queryErrorOf(error, sql));
      }
    }

    override async _stream(
      connection: KnexConnection,
      query: KnexQuery,
      target: Writable,
      options?: { batchSize?: number },
    ): Promise<void> {
      const { sql, bindings = [] } = query;
      refuseEmpty(sql);
      const rows =
        isPostgres && hasCursor(sql)
          ? connection.rows(sql, bindings, options?.batchSize ?? ROWS_AT_A_TIME)
          : rowsOf(this._query(connection, query), isPostgres);
      return pipe(Readable.from(rows), target, sql);
    }
  }
  // Another connection would have to cancel a statement; a rollback of the whole transaction does.
  ScopedClient.prototype.canCancelQuery = false;
  return ScopedClient;
}

/** As Knex's own clients do. */
function refuseEmpty(sql: string): void {
  if (!sql) throw new Error('The query is empty');
}

async function control({ savepoint, options }: KnexConnection, sql: string): Promise<void> {
  if (!savepoint) throw ownTransaction('Knex', 'knexOn');
  if (/^(?:BEGIN|SAVEPOINT)\b/.test(sql)) return savepoint.begin(options);
  const isCommit = /^(?:COMMIT|RELEASE)\b/.test(sql);
  if (!isCommit && !/^ROLLBACK\b/.test(sql)) throw unknownStatement();
  try {
    if (isCommit) await savepoint.release();
  } finally {
    // Knex sends no ROLLBACK after a COMMIT that failed.
    await savepoint.undo();
    savepoint.end();
  }
}

function unknownStatement(): TransactionError {
  const what =
    'Knex sent a statement that controls a transaction, which this version of @ambit/transaction does not know';
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

/** Knex's drivers for SQLite store a date as its milliseconds. */
function asDriversForSqlite(value: unknown): unknown {
  return value instanceof Date ? value.valueOf() : value;
}

async function* rowsOf(query: Promise<KnexQuery>, isPostgres: boolean): AsyncGenerator<object, void, undefined> {
  const { response } = await query;
  yield* isPostgres ? (response as ExecuteResult).rows : (response as object[]);
}

function pipe(source: Readable, target: Writable, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    source.on('error', (failure) => {
      const error = (failure instanceof CarriedError ? failure.error : queryErrorOf(failure, sql)) as Error;
      reject(error);
      if (!target.destroyed) target.emit('error', error);
    });
    source.on('close', resolve);
    source.pipe(target);
  });
}
