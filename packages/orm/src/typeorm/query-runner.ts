import { Readable } from 'node:stream';
import { type ExecuteResult, type Transaction, TransactionError } from '@ambit/transaction';
import type { Savepoint } from '@ambit/transaction/extension';
import { driverErrorOf } from '../errors.js';
import { ROWS_AT_A_TIME, rowsInChunks, within } from '../target.js';

/** The part of TypeORM's `DataSource` that this adapter uses. An application that does not use TypeORM needs none of its types. */
export interface TypeormDataSource<M extends object> {
  /** The subscribers that TypeORM notifies of a transaction. */
  readonly subscribers: readonly unknown[];
  /**
   * Makes what TypeORM sends statements through.
   *
   * @returns a query runner, which has no connection yet
   */
  createQueryRunner(): TypeormQueryRunner<M>;
}

/** A `QueryRunner` of TypeORM, whose `manager` is an `EntityManager`. */
export interface TypeormQueryRunner<M extends object> {
  /** The `EntityManager` whose statements it sends. */
  readonly manager: M;
  /** Notifies the subscribers. */
  readonly broadcaster: object;
}

/** TypeORM's subscribers hear of the whole transaction, once: a nested one may be undone by the transaction around it. */
function announceOutcome(transaction: Transaction, runner: TypeormQueryRunner<object>): void {
  const broadcaster = runner.broadcaster as { broadcast(event: string): Promise<void> };
  transaction.onWhole('beforeCommit', () => broadcaster.broadcast('BeforeTransactionCommit'));
  transaction.onWhole('afterCommit', () => broadcaster.broadcast('AfterTransactionCommit'));
  transaction.onWhole('afterRollback', () => broadcaster.broadcast('AfterTransactionRollback'));
}

/**
 * Makes a new query runner of TypeORM work in `transaction`: it never asks the `DataSource` for a connection, takes the
 * transaction for begun, and its own transactions are nested runs.
 *
 * This file replaces methods of the query runner and sets one field that it declares read-only, `isTransactionActive`.
 * Checked with TypeORM 1.1.1.
 */
export function queryRunnerIn<M extends object>(
  transaction: Transaction,
  dataSource: TypeormDataSource<M>,
): TypeormQueryRunner<M> {
  const runner = dataSource.createQueryRunner();
  const client = new TransactionClient(transaction);
  const replacements = {
    isTransactionActive: true,
    connect: () => Promise.resolve(client),
    // It belongs to the transaction.
    release: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
    startTransaction: (isolation?: string) => client.begin(isolation),
    commitTransaction: () => client.finish('commitTransaction', (savepoint) => savepoint.release()),
    rollbackTransaction: () => client.finish('rollbackTransaction', (savepoint) => savepoint.undo()),
    // TypeORM declares the stream of a file, and returns that of `pg-query-stream`.
    stream: async (sql: string, params?: unknown[], onEnd?: Listener, onError?: Listener) =>
      listen(client.stream(sql, params), onEnd, onError),
  };
  Object.assign(runner, replacements);
  const { manager } = runner;
  const preload = Reflect.get(manager, 'preload') as (...args: unknown[]) => Promise<unknown>;
  const methods = {
    transaction: transactionMethod(transaction, manager),
    preload: (...args: unknown[]) => preload.apply(preloading(manager, dataSource), args),
  };
  Object.assign(manager, methods);
  if (dataSource.subscribers.length > 0) announceOutcome(transaction, runner);
  return runner;
}

type Listener = () => void;

function listen(stream: Readable, onEnd: Listener | undefined, onError: Listener | undefined): Readable {
  if (onEnd) stream.on('end', onEnd);
  if (onError) stream.on('error', onError);
  return stream;
}

/** The manager for its own `preload()`, which asks the manager of the `DataSource`: that reads outside of the transaction. */
function preloading(manager: object, dataSource: object): object {
  const value: unknown = Object.create(dataSource, { manager: { value: manager } });
  // TypeORM 0.3 and 1 name it differently.
  return Object.create(manager, { connection: { value }, dataSource: { value } }) as object;
}

/** `manager.transaction()`: TypeORM's own would let statements from outside of the nested transaction into it. */
function transactionMethod<M>(transaction: Transaction, manager: M) {
  return <T>(...args: [Work<M, T>] | [isolation: string, Work<M, T>]): Promise<T> => {
    const [isolation, work] = args.length === 1 ? [undefined, args[0]] : args;
    return transaction.runNested(() => work(manager), optionsOf(isolation));
  };
}

type Work<M, T> = (manager: M) => Promise<T>;

/** A nested run may repeat the isolation of the transaction, and refuses any other. */
function optionsOf(isolation: string | undefined): object {
  return isolation === undefined ? {} : { isolation: isolation.toLowerCase() };
}

/** TypeORM takes this for a connection of `pg`. */
class TransactionClient {
  readonly #transaction: Transaction;
  /** The nested transactions that were begun with `startTransaction()`, outermost first. */
  readonly #savepoints: Savepoint[] = [];

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
  }

  async query(sql: string, params?: readonly unknown[]): Promise<ExecuteResult> {
    try {
      return await this.#within(() => this.#transaction.connection.execute(sql, params));
    } catch (error) {
      throw driverErrorOf(error);
    }
  }

  async begin(isolation: string | undefined): Promise<void> {
    const savepoint = this.#transaction.createSavepoint();
    await this.#within(() => savepoint.begin(optionsOf(isolation)));
    this.#savepoints.push(savepoint);
  }

  /** Finishes the innermost. After a commit that failed it can still be rolled back. */
  async finish(caller: string, how: (savepoint: Savepoint) => Promise<void>): Promise<void> {
    const savepoint = this.#savepoints.at(-1);
    if (!savepoint) {
      const what = `${caller}() was called where startTransaction() had begun nothing`;
      throw new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
    }
    await how(savepoint);
    savepoint.end();
    this.#savepoints.pop();
  }

  stream(sql: string, params: readonly unknown[] = []): Readable {
    return Readable.from(this.#rows(sql, params));
  }

  async *#rows(sql: string, params: readonly unknown[]): AsyncGenerator<object> {
    const savepoint = this.#savepoints.at(-1) ?? this.#transaction.createSavepoint();
    const chunks = rowsInChunks(this.#transaction.connection, sql, params, ROWS_AT_A_TIME);
    for await (const rows of within(savepoint, chunks)) yield* rows;
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    const savepoint = this.#savepoints.at(-1);
    return savepoint ? savepoint.within(work) : work();
  }
}
