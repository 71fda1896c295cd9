export { beginTransaction } from './begin.js';
export { type Clock, systemClock } from './clock.js';
export type {
  AcquireOptions,
  BeginOptions,
  IConnection,
  IDatabasePool,
  IPooledConnection,
  IsolationLevel,
  PoolSize,
  Row,
} from './contract.js';
export { TRANSACTION_ERROR_CODES, TransactionError, type TransactionErrorCode } from './errors.js';
export { isRetryable, isTemporary, isUnavailable, sqlStateOf } from './faults.js';
export type { TransactionOptions } from './options.js';
export { type Attempt, runInTransaction, type RunOptions, type Work } from './run.js';
export { splitStatements } from './split-statements.js';
export { TransactionStart } from './start.js';
export { transactionOf } from './transaction-of.js';
export type { Transaction, TransactionOutcome, TransactionState } from './transaction.js';
