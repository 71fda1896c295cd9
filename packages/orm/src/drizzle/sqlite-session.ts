import { type Logger, NoopLogger, type TablesRelationalConfig } from 'drizzle-orm';
import { SQLiteRemoteSession } from 'drizzle-orm/sqlite-proxy';
import * as core from 'drizzle-orm/sqlite-core';
import type { SQLiteAsyncDialect, SQLiteSession, SQLiteTransaction } from 'drizzle-orm/sqlite-core';
import type { ExecuteResult, MayExecute } from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import { queryErrorOf } from '../errors.js';
import { executorOf, ownTransaction, type Target } from '../target.js';
import { reporting } from './config.js';

type Tables = TablesRelationalConfig;
type Full = Record<string, unknown>;
type Work<T> = (tx: SQLiteTransaction<'async', ExecuteResult, Full, Tables>) => Promise<T>;
type Relations = ConstructorParameters<typeof SQLiteTransaction<'async', ExecuteResult, Full, Tables>>[3];
type Session = SQLiteRemoteSession<Full, Tables>;
type PrepareQuery = SQLiteSession<'async', ExecuteResult, Full, Tables>['prepareQuery'];

/** `IConnection` takes `$1 ... $n` on every database. */
export class NumberedSqliteDialect extends core.SQLiteAsyncDialect {
  override escapeParam(index: number): string {
    return `$${index + 1}`;
  }
}

/** Drizzle's own statements for a SQLite behind a function, with the connection of a transaction, or a pool, as that function. */
export class ScopedSqliteSession extends core.SQLiteSession<'async', ExecuteResult, Full, Tables> {
  readonly #target: Target;
  readonly relations: Relations;
  readonly #sqliteDialect: SQLiteAsyncDialect;
  /** They prepare the queries: Drizzle gives the rows of raw SQL as they come, which is as objects, and needs arrays of the others. */
  readonly #arrays: Session;
  readonly #objects: Session;

  constructor(target: Target, dialect: SQLiteAsyncDialect, relations: Relations, logger: Logger = new NoopLogger()) {
    super(dialect);
    this.#target = target;
    this.relations = relations;
    this.#sqliteDialect = dialect;
    const database = executorOf(target);
    this.#arrays = new SQLiteRemoteSession(runOn(database, 'array'), dialect, undefined, undefined, { logger });
    this.#objects = new SQLiteRemoteSession(runOn(database, 'object'), dialect, undefined, undefined, { logger });
  }

  /** Without what Drizzle passes for its cache. */
  override prepareQuery(
    ...[query, fields, method, isArray, mapper]: Parameters<PrepareQuery>
  ): ReturnType<PrepareQuery> {
    const session = fields || mapper ? this.#arrays : this.#objects;
    const prepared = session.prepareQuery(query, fields, method, isArray, mapper);
    return reporting(prepared, ['run', 'all', 'get', 'values']);
  }

  /** A nested run: Drizzle's own would send BEGIN. What SQLite's `behavior` asks for is decided already. */
  override transaction<T>(work: Work<T>): Promise<T> {
    const { transaction } = this.#target;
    if (!transaction) return Promise.reject(ownTransaction('Drizzle', 'drizzleOn'));
    const tx = new ScopedSqliteTransaction(this.#sqliteDialect, this, this.relations);
    return transaction.runNested(() => work(tx), {});
  }
}

class ScopedSqliteTransaction extends core.SQLiteTransaction<'async', ExecuteResult, Full, Tables> {
  readonly #session: ScopedSqliteSession;

  constructor(dialect: SQLiteAsyncDialect, session: ScopedSqliteSession, relations: Relations) {
    super('async', dialect, session, relations, 1);
    this.#session = session;
  }

  override transaction<T>(work: Work<T>): Promise<T> {
    return this.#session.transaction(work);
  }
}

type Method = 'run' | 'all' | 'values' | 'get';

/** `run` gets the whole result, which has the number of changed rows. */
function runOn(database: MayExecute, rowMode: 'object' | 'array') {
  return async (sql: string, params: unknown[], method: Method): Promise<{ rows: never }> => {
    const mode = method === 'values' ? 'array' : rowMode;
    try {
      const result = await executeOn(database, sql, params, { rowMode: mode });
      return { ...result, rows: (method === 'get' ? result.rows[0] : result.rows) as never };
    } catch (error) {
      throw queryErrorOf(error, sql);
    }
  };
}
