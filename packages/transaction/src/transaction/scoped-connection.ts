import type { Failure } from '../core/clock.js';
import {
  cannotExecute,
  executeOn,
  type ExecuteOptions,
  type ExecuteResult,
  type IConnection,
  type IPooledConnection,
  type Row,
} from '../core/contract.js';
import { TransactionError, withCallersStack } from '../core/errors.js';
import { announceStatement, since, statementSent, transactionStatement } from '../core/events.js';
import type { StatementQueue } from '../core/queues.js';
import { isRollbackTo, refuseTransactionControl } from '../sql/control-statements.js';
import { refuseOutsider } from './savepoint.js';
import type { Transaction } from './transaction.js';
import { TRANSACTION } from './transaction-of.js';

/** Why a transaction can only roll back. */
export interface PastFailure extends Failure {
  /** A run that had joined the transaction failed, and no statement of it. */
  readonly isOfRun?: boolean;
}

/** The consequence of a statement, or a run, that failed before. */
export function failedBefore({ error: cause, isOfRun }: PastFailure, consequence: string): TransactionError {
  const reason = isOfRun ? 'a run that had joined the transaction failed' : 'an earlier statement failed';
  return new TransactionError('AMBIT_TX_FAILED', `${consequence}, because ${reason}`, { cause });
}

const DEFAULTS: ExecuteOptions = {};

/**
 * The `IConnection` of a transaction scope. It works until the transaction completes: after that its queue refuses
 * every statement. `commit()` and `rollback()` complete the whole transaction, so that nothing can commit it twice.
 */
export class ScopedConnection implements IConnection {
  readonly #transaction: Transaction;
  readonly #connection: IPooledConnection;
  readonly #queue: StatementQueue;
  /** The first failed statement since BEGIN or the last `ROLLBACK TO`; PostgreSQL remembers the same. */
  #failedStatement: PastFailure | undefined = undefined;
  /** A failure that no `ROLLBACK TO` undoes. */
  #rollbackOnly: PastFailure | undefined = undefined;

  constructor(transaction: Transaction, connection: IPooledConnection, queue: StatementQueue) {
    this.#transaction = transaction;
    this.#connection = connection;
    this.#queue = queue;
  }

  /** For `transactionOf()`, in any copy of this package. */
  get [TRANSACTION](): Transaction {
    return this.#transaction;
  }

  /** Why COMMIT must not be sent. */
  get failure(): PastFailure | undefined {
    const failure = this.#failedStatement ?? this.#rollbackOnly;
    if (failure || this.#transaction.nestedRuns.length === 0) return failure;
    return { error: new TransactionError('AMBIT_TX_NESTED', 'commit() was called while a nested run was in progress') };
  }

  /** A run that is a part of the transaction has failed, which counts as a failed statement: a savepoint may undo it. */
  fail(error: unknown): void {
    this.#failedStatement ??= { error, isOfRun: true };
  }

  markRollbackOnly(error: unknown): void {
    this.#rollbackOnly ??= { error };
  }

  async beginTransaction(): Promise<void> {
    throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'beginTransaction() was called on the IConnection of a scope');
  }

  commit(): Promise<void> {
    return this.#transaction.commitFromConnection();
  }

  rollback(): Promise<void> {
    return this.#transaction.rollbackFromConnection();
  }

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#run(sql, params) as Promise<R[]>;
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options: ExecuteOptions = DEFAULTS,
  ): Promise<ExecuteResult<R>> {
    return this.#run(sql, params, options) as Promise<ExecuteResult<R>>;
  }

  /** With options it is `execute()`, without them `query()`. */
  async #run(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Promise<unknown> {
    const announced = statementSent.hasSubscribers ? announceStatement() : undefined;
    const { nestedRuns } = this.#transaction;
    if (nestedRuns.length > 0) refuseOutsider(nestedRuns);
    const turn = this.#enter(sql, announced);
    if (turn) await turn;
    try {
      refuseTransactionControl(sql);
      const undoesFailure = this.#failedStatement !== undefined && isRollbackTo(sql);
      const failure = undoesFailure ? this.#rollbackOnly : (this.#failedStatement ?? this.#rollbackOnly);
      if (failure) throw failedBefore(failure, 'The statement was not run');
      const connection = this.#connection;
      if (options && !connection.execute) throw cannotExecute();
      const start = transactionStatement.hasSubscribers ? performance.now() : 0;
      try {
        const pending: Promise<unknown> = options
          ? executeOn(connection, sql, params, options)
          : connection.query(sql, params);
        const result = await (connection.synchronous ? pending : this.#unlessAbandoned(pending));
        if (undoesFailure) this.#failedStatement = undefined;
        this.#transaction.callbacks?.follow(sql);
        if (transactionStatement.hasSubscribers) this.#publish({ ...announced, sql, milliseconds: since(start) });
        return result;
      } catch (error) {
        this.#failedStatement ??= { error };
        if (transactionStatement.hasSubscribers)
          this.#publish({ ...announced, sql, milliseconds: since(start), error });
        throw withCallersStack(failedStatement(error, this.#transaction.error));
      }
    } finally {
      this.#queue.leave();
    }
  }

  /** What comes after the transaction has completed is refused here, and published: its code awaits too little. */
  #enter(sql: string, announced: object | undefined): Promise<void> | undefined {
    try {
      return this.#queue.enter();
    } catch (error) {
      if (transactionStatement.hasSubscribers) this.#publish({ ...announced, sql, milliseconds: 0, error });
      throw error;
    }
  }

  #unlessAbandoned<T>(result: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => this.#queue.unlessAbandoned(result, resolve, reject));
  }

  #publish(statement: object): void {
    transactionStatement.publish({ scope: this.#transaction.scope, ...statement });
  }
}

/** The error of a statement that failed: after an abort the database only says that the statement was cancelled. */
function failedStatement(error: unknown, transactionError: TransactionError | undefined): unknown {
  return isAborted(transactionError) ? abortedUse('A statement was cancelled', error) : error;
}

export function isAborted(error: TransactionError | undefined): error is TransactionError {
  return error?.code === 'AMBIT_TX_ABORTED';
}

export function abortedUse(what: string, cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_ABORTED', what, { cause });
}
