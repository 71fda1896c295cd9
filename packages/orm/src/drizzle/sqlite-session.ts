import { type Logger, NoopLogger, type TablesRelationalConfig } from 'drizzle-orm';
import { NoopCache } from 'drizzle-orm/cache/core';
import { RemotePreparedQuery } from 'drizzle-orm/sqlite-proxy';
import { SQLiteAsyncDialect, SQLiteSession, SQLiteTransaction } from 'drizzle-orm/sqlite-core';
import type { ExecuteResult, MayExecute } from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import { queryErrorOf } from '../errors.js';
import { executorOf, ownTransaction, type Target } from '../target.js';
import { reported } from './config.js';

type Tables = TablesRelationalConfig;
type Full = Record<string, unknown>;
type Work<T> = (tx: SQLiteTransaction<'async', ExecuteResult, Full, Tables>) => Promise<T>;
type Relations = ConstructorParameters<typeof SQLiteTransaction<'async', ExecuteResult, Full, Tables>>[3];
type PrepareQuery = SQLiteSession<'async', ExecuteResult, Full, Tables>['prepareQuery'];

/** `IConnection` takes `$1 ... $n` on every database. */
export class NumberedSqliteDialect extends SQLiteAsyncDialect {
  override escapeParam(index: number): string {
    return `$${index + 1}`;
  }
}

/** Drizzle's own statements for a SQLite behind a function, with the connection of a transaction, or a pool, as that function. */
export class ScopedSqliteSession extends SQLiteSession<'async', ExecuteResult, Full, Tables> {
  readonly #target: Target;
  readonly relations: Relations;
  readonly #sqliteDialect: SQLiteAsyncDialect;
  readonly #logger: Logger;

  constructor(target: Target, dialect: SQLiteAsyncDialect, relations: Relations, logger: Logger = new NoopLogger()) {
    super(dialect);
    this.#target = target;
    this.relations = relations;
    this.#sqliteDialect = dialect;
    this.#logger = logger;
  }

  override prepareQuery(
    ...[query, fields, method, isArray, mapper]: Parameters<PrepareQuery>
  ): ReturnType<PrepareQuery> {
    // Without fields Drizzle gives the rows of raw SQL as they come, which is as objects.
    const rowMode = fields || mapper ? 'array' : 'object';
    const run = runOn(executorOf(this.#target), rowMode);
    const cache = new NoopCache();
    return new ScopedSqliteQuery(
      run,
      query,
      this.#logger,
      cache,
      undefined,
      undefined,
      fields,
      method,
      isArray,
      mapper,
    );
  }

  /** A nested run: Drizzle's own would send BEGIN. What SQLite's `behavior` asks for is decided already. */
  override transaction<T>(work: Work<T>): Promise<T> {
    const { transaction } = this.#target;
    if (!transaction) return Promise.reject(ownTransaction('Drizzle', 'drizzleOn'));
    const tx = new ScopedSqliteTransaction(this.#sqliteDialect, this, this.relations);
    return transaction.runNested(() => work(tx), {});
  }
}

class ScopedSqliteTransaction extends SQLiteTransaction<'async', ExecuteResult, Full, Tables> {
  readonly #session: ScopedSqliteSession;

  constructor(dialect: SQLiteAsyncDialect, session: ScopedSqliteSession, relations: Relations) {
    super('async', dialect, session, relations, 1);
    this.#session = session;
  }

  override transaction<T>(work: Work<T>): Promise<T> {
    return this.#session.transaction(work);
  }
}

class ScopedSqliteQuery extends RemotePreparedQuery {
  override run(values?: Full): ReturnType<RemotePreparedQuery['run']> {
    return reported(() => super.run(values));
  }

  override all(values?: Full): ReturnType<RemotePreparedQuery['all']> {
    return reported(() => super.all(values));
  }

  override get(values?: Full): ReturnType<RemotePreparedQuery['get']> {
    return reported(() => super.get(values));
  }

  override values<T extends unknown[] = unknown[]>(values?: Full): Promise<T[]> {
    return reported(() => super.values<T>(values));
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
