import { type NodePgClient, NodePgSession, NodePgTransaction } from 'drizzle-orm/node-postgres';
import type { Logger, TablesRelationalConfig } from 'drizzle-orm';
import type { PgDialect, PgTransactionConfig } from 'drizzle-orm/pg-core';
import type { ExecuteOptions, ExecuteResult, IConnection } from '../core/contract.js';
import type { Transaction } from '../transaction/transaction.js';

type Relations<Tables extends TablesRelationalConfig> = ConstructorParameters<
  typeof NodePgSession<Record<string, unknown>, Tables>
>[2];

/** Drizzle's session for the `pg` driver, with the connection of a transaction in place of the driver's client. */
export class ScopedPgSession<
  Full extends Record<string, unknown>,
  Tables extends TablesRelationalConfig,
> extends NodePgSession<Full, Tables> {
  readonly #transaction: Transaction;
  readonly #relations: Relations<Tables>;
  readonly #dialect: PgDialect;

  constructor(
    transaction: Transaction,
    dialect: PgDialect,
    relations: Relations<Tables>,
    options: { logger?: Logger },
  ) {
    super(clientOn(transaction.connection), dialect, relations, options);
    this.#transaction = transaction;
    this.#dialect = dialect;
    this.#relations = relations;
  }

  /** A nested run: Drizzle's own would send BEGIN. */
  override transaction<T>(
    work: (tx: NodePgTransaction<Full, Tables>) => Promise<T>,
    { isolationLevel, accessMode, deferrable }: PgTransactionConfig = {},
  ): Promise<T> {
    const tx = new ScopedPgTransaction<Full, Tables>(this.#dialect, this, this.#relations, 1);
    const readOnly = accessMode && accessMode === 'read only';
    const options: object = { isolation: isolationLevel, readOnly, deferrable };
    return this.#transaction.runNested(() => work(tx), options);
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
function clientOn(connection: IConnection): NodePgClient {
  const client = {
    query: ({ text, rowMode = 'object', types }: DrizzleQuery, params: unknown[]): Promise<ExecuteResult<object>> =>
      connection.execute<object>(text, params, { rowMode, types }),
  };
  return client as unknown as NodePgClient;
}
