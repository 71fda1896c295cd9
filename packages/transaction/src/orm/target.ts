import type { IConnection, IDatabasePool, MayExecute } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { TRANSACTION } from '../transaction/scoped-connection.js';
import type { Transaction } from '../transaction/transaction.js';

/** Where the statements of a query builder go: to the transaction of a scope, or each by itself to a pool. */
export type Target =
  | { readonly transaction: Transaction; readonly pool?: undefined }
  | { readonly transaction?: undefined; readonly pool: IDatabasePool };

/** What an application may pass to a query builder. */
export function targetOf(database: IConnection | IDatabasePool, caller: string): Target {
  const transaction = transactionIn(database);
  if (transaction) return { transaction };
  if (isPool(database)) return { pool: database };
  throw invalid(caller, 'the IConnection of a transaction scope, or a pool, not another connection');
}

/** What executes the statements of a target. */
export function executorOf({ transaction, pool }: Target): MayExecute {
  return transaction ? transaction.connection : pool;
}

/** The transaction that an `IConnection` of a scope belongs to. Nested transactions of ORMs need it for their savepoints. */
export function transactionOfConnection(connection: IConnection, caller: string): Transaction {
  const transaction = transactionIn(connection);
  if (transaction) return transaction;
  throw invalid(caller, 'the IConnection of a transaction scope, not a pool or another connection');
}

/** A transaction that a library begins by itself would be outside of every scope, and begin without `afterBegin` of the pool. */
export function ownTransaction(library: string, on: string): TransactionError {
  const what = `${library} was about to begin a transaction of its own on a pool. Begin it with runInTransaction(), or with withTransaction() on a route, and use ${on}() with the IConnection of its scope`;
  return new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}

function transactionIn(database: IConnection | IDatabasePool): Transaction | undefined {
  return (database as { readonly [TRANSACTION]?: Transaction } | undefined)?.[TRANSACTION];
}

/** Code without types may pass anything. */
function isPool(database: IConnection | IDatabasePool | undefined): database is IDatabasePool {
  return typeof database === 'object' && 'getConnection' in database;
}

function invalid(caller: string, what: string): TransactionError {
  return new TransactionError('AMBIT_TX_OPTION', `${caller} takes ${what}`);
}
