import {
  type NodePgClient,
  type NodePgPreparedQuery,
  NodePgSession,
  NodePgTransaction,
} from 'drizzle-orm/node-postgres';
import { type Logger, NoopLogger, type TablesRelationalConfig } from 'drizzle-orm';
import type { PgDialect, PgTransactionConfig, PreparedQueryConfig } from 'drizzle-orm/pg-core';
import type { ExecuteOptions, ExecuteResult, MayExecute } from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import { executorOf, ownTransaction, type Target } from '../target.js';
import { queryErrorOf } from '../errors.js';
import { reporting } from './config.js';

type Relations<Tables extends TablesRelationalConfig> = ConstructorParameters<
  typeof NodePgSession<Record<string, unknown>, Tables>
>[2];

type PrepareQuery = NodePgSession<Record<string, unknown>, TablesRelationalConfig>['prepareQuery'];

/** Drizzle's session for the `pg` driver, with the connection of a transaction, or a pool, in place of the driver's client. */
export class ScopedPgSession<
  Full extends Record<string, unknown>,
  Tables extends TablesRelationalConfig,
> extends NodePgSession<Full, Tables> {
  readonly #target: Target;
  readonly #relations: Relations<Tables>;
  readonly #dialect: PgDialect;

  constructor(target: Target, dialect: PgDialect, relations: Relations<Tables>, logger: Logger = new NoopLogger()) {
    super(clientOn(executorOf(target)), dialect, relations, { logger });
    this.#target = target;
    this.#relations = relations;
    this.#dialect = dialect;
  }

  /** Without what Drizzle passes for its cache. */
  override prepareQuery<T extends PreparedQueryConfig = PreparedQueryConfig>(
    ...[query, fields, name, isArray, mapper]: Parameters<PrepareQuery>
  ): NodePgPreparedQuery<T> {
    const prepared = super.prepareQuery<T>(query, fields, name, isArray, mapper) as NodePgPreparedQuery<T>;
    return reporting(prepared, ['execute', 'all']);
  }

  /** A nested run: Drizzle's own would send BEGIN. */
  override transaction<T>(
    work: (tx: NodePgTransaction<Full, Tables>) => Promise<T>,
    { isolationLevel, accessMode, deferrable }: PgTransactionConfig = {},
  ): Promise<T> {
    const { transaction } = this.#target;
    if (!transaction) return Promise.reject(ownTransaction('Drizzle', 'drizzleOn'));
    const tx = new ScopedPgTransaction<Full, Tables>(this.#dialect, this, this.#relations, 1);
    const readOnly = accessMode && accessMode === 'read only';
    const options: object = { isolation: isolationLevel, readOnly, deferrable };
    return transaction.runNested(() => work(tx), options);
  }
}

/** Its own nested transactions are named after its depth, so two at a time would have the same savepoint. */
class ScopedPgTransaction<
  Full extends Record<string, unknown>,
  Tables extends TablesRelationalConfig,
> extends NodePgTransaction<Full, Tables> {
  readonly #session: ScopedPgSession<Full, Tables>;

  constructor(
    dialect: PgDialect,
    session: ScopedPgSession<Full, Tables>,
    relations: Relations<Tables>,
    nestedIndex: number,
  ) {
    super(dialect, session, relations, nestedIndex);
    this.#session = session;
  }

  override transaction<T>(work: (tx: NodePgTransaction<Full, Tables>) => Promise<T>): Promise<T> {
    return this.#session.transaction(work);
  }
}

/** What Drizzle passes to `client.query()`. It names a statement only where the application does; the pool has names of its own. */
interface DrizzleQuery {
  readonly text: string;
  readonly rowMode?: 'object' | 'array';
  readonly types: NonNullable<ExecuteOptions['types']>;
}

/** Drizzle calls nothing else of its client. */
function clientOn(database: MayExecute): NodePgClient {
  const client = {
    async query({ text, rowMode = 'object', types }: DrizzleQuery, params: unknown[]): Promise<ExecuteResult<object>> {
      try {
        return await executeOn<object>(database, text, params, { rowMode, types });
      } catch (error) {
        throw queryErrorOf(error, text);
      }
    },
  };
  return client as unknown as NodePgClient;
}
