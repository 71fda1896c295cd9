export type { Clock } from './clock.js';
export type {
  AcquireOptions,
  AfterBegin,
  BeginOptions,
  DatabaseConnection,
  DatabasePool,
  ExecuteOptions,
  ExecuteResult,
  IConnection,
  IDatabasePool,
  IPooledConnection,
  IsolationLevel,
  MayExecute,
  PoolSize,
  QueryOptions,
  Row,
} from './contract.js';
export { TransactionError, type TransactionErrorCode } from './errors.js';
export type { ConnectionKey, DatabaseKeys, PoolKey, TransactionOptions } from './options.js';
export { isRetryable, isTemporary, sqlStateOf } from './sql-state.js';
export { splitStatements } from './sql/split-statements.js';
export type { AfterCommitOptions } from './transaction/callbacks.js';
export type { Propagation } from './transaction/run-in-transaction.js';
export { type Attempt, runInTransaction, type RunOptions, type Work } from './transaction/run-in-transaction.js';
export { afterCommit, transactionOf } from './transaction/transaction-of.js';
export type { Transaction, TransactionOutcome, TransactionState } from './transaction/transaction.js';
