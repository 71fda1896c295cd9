import { isRollbackTo, refuseTransactionControl } from './control-statements.js';
import type { IConnection, IPooledConnection, Row } from './contract.js';
import { TransactionError } from './errors.js';
import { stopwatch, transactionStatement } from './events.js';
import type { Lane } from './lane.js';
import { refuseOutsider } from './nested-runs.js';
import { TRANSACTION } from './transaction-of.js';
import type { Transaction } from './transaction.js';

/**
 * The `IConnection` of a transaction scope. It works until the transaction ends and never after: its lane refuses.
 * Commit and rollback on it end the whole transaction through the one state machine, so no path ends it twice.
 */
export class Handle implements IConnection {
  readonly #transaction: Transaction;
  readonly #connection: IPooledConnection;
  readonly #lane: Lane;
  /** The first failure since the start or since the last `ROLLBACK TO`; PostgreSQL keeps the same memory. */
  #failure: { readonly error: unknown } | undefined = undefined;
  /** What no `ROLLBACK TO` repairs. */
  #doom: { readonly error: unknown } | undefined = undefined;

  constructor(transaction: Transaction, connection: IPooledConnection, lane: Lane) {
    this.#transaction = transaction;
    this.#connection = connection;
    this.#lane = lane;
  }

  /** For `transactionOf()`, in whichever copy of this package. */
  get [TRANSACTION](): Transaction {
    return this.#transaction;
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#failure ?? this.#doom;
  }

  doom(error: unknown): void {
    this.#doom ??= { error };
  }

  async beginTransaction(): Promise<void> {
    throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'beginTransaction() was called on the IConnection of a scope');
  }

  commit(): Promise<void> {
    return this.#transaction.commitFromHandle();
  }

  rollback(): Promise<void> {
    return this.#transaction.rollbackFromHandle();
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const { nestedRuns } = this.#transaction;
    if (nestedRuns.length > 0) refuseOutsider(nestedRuns);
    const turn = this.#lane.enter();
    if (turn) await turn;
    try {
      refuseTransactionControl(sql);
      const isRepair = this.#failure !== undefined && isRollbackTo(sql);
      const failure = isRepair ? this.#doom : this.failure;
      if (failure) throw failed(failure.error, 'The statement was not run');
      const milliseconds = stopwatch(transactionStatement);
      try {
        const answer = this.#connection.query<R>(sql, params);
        const rows = await (this.#connection.synchronous ? answer : this.#lane.unlessAbandoned(answer));
        if (isRepair) this.#failure = undefined;
        if (transactionStatement.hasSubscribers) this.#tell({ sql, milliseconds: milliseconds() });
        return rows;
      } catch (error) {
        this.#failure ??= { error };
        if (transactionStatement.hasSubscribers) this.#tell({ sql, milliseconds: milliseconds(), error });
        throw error;
      }
    } finally {
      this.#lane.leave();
    }
  }

  #tell(statement: object): void {
    transactionStatement.publish({ scope: this.#transaction.scope, ...statement });
  }
}

export function failed(error: unknown, consequence: string): TransactionError {
  return new TransactionError('AMBIT_TX_FAILED', `${consequence}, because of an earlier failure`, { cause: error });
}
