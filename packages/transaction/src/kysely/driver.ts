import {
  type CompiledQuery,
  type ConnectionProvider,
  createQueryId,
  type DatabaseConnection,
  type Driver,
  IdentifierNode,
  type QueryCompiler,
  type QueryResult,
  RawNode,
  type TransactionSettings,
} from 'kysely';
import type { ExecuteOptions, ExecuteResult, IConnection, MayExecute } from '../core/contract.js';
import { executeOn } from '../core/execute-on.js';
import { queryErrorOf } from '../orm/errors.js';
import { rowsInChunks } from '../orm/rows-in-chunks.js';
import type { Savepoint } from '../transaction/savepoint.js';
import type { Transaction } from '../transaction/transaction.js';
import type { KyselyDialect } from './dialects.js';

const CHANGING: ReadonlySet<string> = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);
const ROWS_AT_A_TIME = 100;

/** How statements are sent. */
export interface StatementMeans {
  readonly dialect: KyselyDialect;
  /** Passed to `execute()`. */
  readonly options?: ExecuteOptions;
  /** What the caller sees of an error. Default: an error with the fields of the driver's. */
  readonly errorOf?: (error: unknown, sql: string) => unknown;
}

/** Sends one statement. */
export async function send<R>(
  database: MayExecute,
  { sql, parameters }: CompiledQuery,
  { options, errorOf = queryErrorOf }: StatementMeans,
): Promise<QueryResult<R>> {
  try {
    return asKysely<R>(await executeOn(database, sql, parameters, options));
  } catch (error) {
    throw errorOf(error, sql);
  }
}

/** What Kysely takes for a connection of its own: for one query, or for one nested transaction after another. */
class ConnectionUse implements DatabaseConnection {
  readonly savepoint: Savepoint;
  readonly #connection: IConnection;
  readonly #means: StatementMeans;

  constructor({ connection, savepoint }: { connection: IConnection; savepoint: Savepoint }, means: StatementMeans) {
    this.#connection = connection;
    this.savepoint = savepoint;
    this.#means = means;
  }

  executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.savepoint.within(() => send<R>(this.#connection, query, this.#means));
  }

  async *streamQuery<R>(query: CompiledQuery, chunkSize = ROWS_AT_A_TIME): AsyncIterableIterator<QueryResult<R>> {
    // Only a SELECT can have a cursor, and only PostgreSQL has them.
    if (this.#means.dialect !== 'postgres' || query.query.kind !== 'SelectQueryNode') yield this.executeQuery<R>(query);
    else yield* this.#chunks<R>(query, chunkSize);
  }

  /** Kysely may ask for the next rows from code outside of the nested transaction that the query belongs to. */
  async *#chunks<R>({ sql, parameters }: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    const chunks = rowsInChunks(this.#connection, sql, parameters, chunkSize, this.#means.options);
    const next = (): ReturnType<typeof chunks.next> => this.savepoint.within(() => chunks.next());
    try {
      for (let chunk = await next(); !chunk.done; chunk = await next()) yield { rows: chunk.value as R[] };
    } catch (error) {
      throw (this.#means.errorOf ?? queryErrorOf)(error, sql);
    } finally {
      await this.savepoint.within(() => chunks.return());
    }
  }
}

function asKysely<R>({ rows, rowCount, command, insertId }: ExecuteResult): QueryResult<R> {
  return {
    rows: rows as R[],
    ...(rowCount !== null && CHANGING.has(command) && { numAffectedRows: BigInt(rowCount) }),
    ...(insertId !== undefined && { insertId: BigInt(insertId) }),
  };
}

/**
 * Kysely's way to the connection of a transaction. A transaction of Kysely is a nested run: it cannot commit or roll back
 * the whole. Kysely's own provider and driver are not used, because they give no place for the code of a nested run to run in.
 */
export class ScopedDriver implements Driver, ConnectionProvider {
  readonly #transaction: Transaction;
  readonly #means: StatementMeans;

  constructor(transaction: Transaction, means: StatementMeans) {
    this.#transaction = transaction;
    this.#means = means;
  }

  async provideConnection<T>(consumer: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    const use = this.#use();
    try {
      return await use.savepoint.within(() => consumer(use));
    } finally {
      use.savepoint.end();
    }
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#use();
  }

  beginTransaction(use: DatabaseConnection, { isolationLevel, accessMode }: TransactionSettings): Promise<void> {
    return savepointOf(use).begin({ isolation: isolationLevel, readOnly: accessMode && accessMode === 'read only' });
  }

  commitTransaction(use: DatabaseConnection): Promise<void> {
    return savepointOf(use).release();
  }

  rollbackTransaction(use: DatabaseConnection): Promise<void> {
    return savepointOf(use).undo();
  }

  async savepoint(use: DatabaseConnection, name: string, compile: QueryCompiler['compileQuery']): Promise<void> {
    await use.executeQuery(savepointCommand('savepoint', name, compile));
  }

  async rollbackToSavepoint(
    use: DatabaseConnection,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> {
    await use.executeQuery(savepointCommand('rollback to', name, compile));
  }

  async releaseSavepoint(use: DatabaseConnection, name: string, compile: QueryCompiler['compileQuery']): Promise<void> {
    await use.executeQuery(savepointCommand('release savepoint', name, compile));
  }

  async init(): Promise<void> {}

  async releaseConnection(use: DatabaseConnection): Promise<void> {
    savepointOf(use).end();
  }

  /** The connection belongs to the transaction. */
  async destroy(): Promise<void> {}

  #use(): ConnectionUse {
    const { connection } = this.#transaction;
    return new ConnectionUse({ connection, savepoint: this.#transaction.createSavepoint() }, this.#means);
  }
}

/** Kysely hands back what `provideConnection()` or `acquireConnection()` gave it. */
function savepointOf(use: DatabaseConnection): Savepoint {
  return (use as ConnectionUse).savepoint;
}

function savepointCommand(command: string, name: string, compile: QueryCompiler['compileQuery']): CompiledQuery {
  const node = RawNode.createWithChildren([RawNode.createWithSql(`${command} `), IdentifierNode.create(name)]);
  return compile(node, createQueryId());
}
