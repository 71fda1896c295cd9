import { randomUUID } from 'node:crypto';
import {
  type ExecuteOptions,
  type IConnection,
  type IDatabasePool,
  type MayExecute,
  type Row,
  type Transaction,
  TransactionError,
} from '@ambit/transaction';
import { POSTGRES, type Savepoint, tokensOf, transactionOn } from '@ambit/transaction/extension';

/** The target of a query builder's statements: the transaction of a scope, or a pool, each statement by itself. */
export type Target =
  | { readonly transaction: Transaction; readonly pool?: undefined }
  | { readonly transaction?: undefined; readonly pool: IDatabasePool };

/** The connection or the pool that an application passes to a query builder. */
export function targetOf(database: IConnection | IDatabasePool, caller: string): Target {
  const transaction = transactionOn(database);
  if (transaction) return { transaction };
  if (isPool(database)) return { pool: database };
  throw invalid(caller, 'the IConnection of a transaction scope, or a pool, not another connection');
}

/** Executes the statements of a target. */
export function executorOf({ transaction, pool }: Target): MayExecute {
  return transaction ? transaction.connection : pool;
}

/** The transaction that an `IConnection` of a scope belongs to. Nested transactions of ORMs need it for their savepoints. */
export function transactionOfConnection(connection: IConnection, caller: string): Transaction {
  const transaction = transactionOn(connection);
  if (transaction) return transaction;
  throw invalid(caller, 'the IConnection of a transaction scope, not a pool or another connection');
}

/** A transaction that a library begins by itself would be outside of every scope, and begin without `afterBegin` of the pool. */
export function ownTransaction(library: string, on: string): TransactionError {
  const what = `${library} was about to begin a transaction of its own on a pool. Begin it with runInTransaction(), or with withTransaction() or @Transactional() on a handler, and use ${on}() with the IConnection of its scope`;
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

/** Code without types may pass anything. */
function isPool(database: IConnection | IDatabasePool | undefined): database is IDatabasePool {
  return typeof database === 'object' && 'getConnection' in database;
}

function invalid(caller: string, what: string): TransactionError {
  return new TransactionError('AMBIT_OPTION', `${caller} takes ${what}`);
}

const WRITES = /\b(?:insert|update|delete|merge)\b/i;

/** True if a WITH of the statement may write, for which PostgreSQL has no cursor. A column of such a name may look like it. */
function mayWriteInWith(sql: string): boolean {
  if (!WRITES.test(sql)) return false;
  let before = '';
  for (const { kind, text } of tokensOf(sql, POSTGRES)) {
    if (kind === 'space' || kind === 'comment') continue;
    if (kind === 'word' && before === '(' && WRITES.test(text)) return true;
    before = text;
  }
  return false;
}

/** How many rows a stream fetches at a time, where its caller does not say. */
export const ROWS_AT_A_TIME = 100;

const SELECT = /^\s*(?:select|values|table)\b/i;

/** True if PostgreSQL has a cursor for the statement: only for what certainly reads. */
export function hasCursor(sql: string): boolean {
  return SELECT.test(sql);
}

/**
 * The rows of a SELECT, so many at a time, through a cursor of PostgreSQL: the whole result is never in memory. The cursor is
 * closed when the caller stops early, and by the database when the transaction completes. PostgreSQL has no cursor for a
 * SELECT that writes in its WITH (0A000), so its rows come at once.
 */
export async function* rowsInChunks<R extends object = Row>(
  connection: IConnection,
  sql: string,
  params: readonly unknown[],
  size: number,
  options?: ExecuteOptions,
): AsyncGenerator<R[], void, undefined> {
  if (mayWriteInWith(sql)) {
    const { rows } = await connection.execute<R>(sql, params, options);
    for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
    return;
  }
  const cursor = `ambit_${randomUUID().replaceAll('-', '')}`;
  await connection.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, params);
  try {
    for (;;) {
      const { rows } = await connection.execute<R>(`FETCH ${size} FROM ${cursor}`, [], options);
      if (rows.length > 0) yield rows;
      if (rows.length < size) return;
    }
  } finally {
    // It is refused after a failed statement, and the rollback that must follow closes the cursor.
    await connection.query(`CLOSE ${cursor}`).catch(() => undefined);
  }
}

/** The chunks of a query of a nested transaction: its reader may ask for the next one from code outside of that. */
export async function* within<T>(
  savepoint: Savepoint,
  chunks: AsyncGenerator<T, void, undefined>,
): AsyncGenerator<T, void, undefined> {
  const next = (): ReturnType<typeof chunks.next> => savepoint.within(() => chunks.next());
  try {
    for (let chunk = await next(); !chunk.done; chunk = await next()) yield chunk.value;
  } finally {
    await savepoint.within(() => chunks.return());
  }
}
