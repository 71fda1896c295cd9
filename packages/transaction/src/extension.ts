import type { DatabasePool, IConnection, IDatabasePool } from './contract.js';
import type { Driver } from './pool/driver.js';
import { type DriverPoolOptions, readDriverOptions } from './pool/options.js';
import { Pool } from './pool/pool.js';
import { withinRun } from './transaction/savepoint.js';
import type { Transaction } from './transaction/transaction.js';
import { TRANSACTION } from './transaction/transaction-of.js';

export { systemClock } from './clock.js';
export { executeOn } from './contract.js';
export { inWorkContext, type ObservedWork, unchecked } from './events.js';
export { connectionLost, refusedStatement, report, withCallersStack } from './errors.js';
export { checkClock, checkCount, checkFunction, checkTime, given, wantsArrays } from './options.js';
export { codeOf } from './sql-state.js';
export { checkSchema, type SchemaResult, type StandardSchema, valueBy } from './standard-schema.js';
export { refusedValue } from './sql/values.js';
export { runOnPool, runScript } from './databases/run-on-pool.js';
export type { Driver, Language, Wire } from './pool/driver.js';
export type { DriverPoolOptions } from './pool/options.js';
export { inFrontOfDrivers } from './pool/pool.js';
export { mayBePrepared, POSTGRES_LANGUAGE } from './postgres/language.js';
export {
  type PgResult,
  type PostgresBackend,
  requestCancel,
  resultOfPg,
  safeTypes,
  transactionStatusOf,
} from './postgres/protocol.js';
export { dateText, type PostgresValue } from './postgres/values.js';
export { commandOf } from './sql/command.js';
export { firstWords, isTransactionControl } from './sql/control-statements.js';
export { type Dialect, MYSQL, POSTGRES, type Token, type TokenKind, tokensOf } from './sql/lexer.js';
export { PositionalTexts } from './sql/positional.js';
export { type DurableObjectStorage, durableObjectPoolOver } from './sqlite/durable-object.js';
export type { SqliteEngine, SqliteEngineStatement } from './sqlite/engine.js';
export { type NodeSqlite, nodeSqliteEngine } from './sqlite/node-sqlite.js';
export { sqlitePoolOver } from './sqlite/pool-over.js';
export { deferOn } from './transaction/scope-disposal.js';
export type { CallbackKind } from './transaction/callbacks.js';
export type { Savepoint } from './transaction/savepoint.js';

/**
 * The pool over a driver: it decides who waits, for how long and in which order, refuses what must not be sent, and closes.
 *
 * @param driver - where the connections come from, and the language of the database
 * @param options - who may wait for a connection, and for how long
 * @returns a pool with the guarantees of docs/guides/databases.md
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import type { DatabasePool } from '@ambit/transaction';
 * import { poolOver, POSTGRES_LANGUAGE, type Wire } from '@ambit/transaction/extension';
 *
 * declare const client: { connect(): Promise<Wire>; end(): Promise<void> };
 * const pool: DatabasePool = poolOver(
 *   { language: POSTGRES_LANGUAGE, max: 10, connect: () => client.connect(), close: () => client.end() },
 *   { acquireTimeoutMs: 2000 },
 * );
 * ```
 */
export function poolOver(driver: Driver, options: DriverPoolOptions): DatabasePool {
  return new Pool(driver, readDriverOptions(options));
}

/**
 * The transaction that a connection belongs to, for adapters of ORMs: their nested transactions are its savepoints.
 *
 * @param database - what an application passes: the `IConnection` of a transaction scope, or anything else
 * @returns the transaction; undefined for a pool, and for a connection that was checked out of one
 *
 * @example
 * ```ts
 * import type { IConnection } from '@ambit/transaction';
 * import { transactionOn } from '@ambit/transaction/extension';
 *
 * function nested<T>(connection: IConnection, work: () => Promise<T>): Promise<T> {
 *   const transaction = transactionOn(connection);
 *   return transaction ? transaction.runNested(work, {}) : work();
 * }
 * ```
 */
export function transactionOn(database: IConnection | IDatabasePool): Transaction | undefined {
  // Code without types may pass anything.
  return (database as { readonly [TRANSACTION]?: Transaction } | undefined)?.[TRANSACTION];
}

/**
 * Makes work part of the innermost nested run in progress, for an ORM that does not say whose statement it sends.
 *
 * @param transaction - the transaction whose runs are meant
 * @param work - what sends statements
 * @returns what `work` returns
 */
export function withinInnermostRun<T>(transaction: Transaction, work: () => T): T {
  const innermost = transaction.nestedRuns.at(-1);
  return innermost ? withinRun(innermost, work) : work();
}
