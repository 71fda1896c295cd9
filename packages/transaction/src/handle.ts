import { isRollbackTo, refuseTransactionControl } from './control-statements.js';
import type { IConnection, Row } from './contract.js';
import { TransactionError } from './errors.js';
import type { Lane } from './lane.js';
import type { Transaction } from './transaction.js';

/** What the handle needs of the transaction it belongs to. */
export interface HandleOwner {
  readonly transaction: Transaction;
  readonly connection: Pick<IConnection, 'query'>;
  readonly lane: Lane;
  commitFromHandle(): Promise<void>;
  rollbackFromHandle(): Promise<void>;
}

/**
 * The `IConnection` of a transaction scope. It works until the transaction ends and never after: its lane refuses.
 * Commit and rollback on it end the whole transaction through the one state machine, so no path ends it twice.
 */
export class Handle implements IConnection {
  readonly #owner: HandleOwner;
  /** The first failure since the start or since the last `ROLLBACK TO`; PostgreSQL keeps the same memory. */
  #failure: { readonly error: unknown } | undefined;

  constructor(owner: HandleOwner) {
    this.#owner = owner;
  }

  /** The transaction that a connection belongs to, if it is one of ours. */
  static transactionOf(connection: unknown): Transaction | undefined {
    return connection instanceof Handle ? connection.#owner.transaction : undefined;
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  async beginTransaction(): Promise<void> {
    throw new TransactionError('AMBIT_TX_ALREADY_OPEN', 'beginTransaction() was called on the IConnection of a scope');
  }

  commit(): Promise<void> {
    return this.#owner.commitFromHandle();
  }

  rollback(): Promise<void> {
    return this.#owner.rollbackFromHandle();
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    refuseTransactionControl(sql);
    return this.#owner.lane.run(() => this.#run<R>(sql, params));
  }

  async #run<R extends object>(sql: string, params: readonly unknown[] | undefined): Promise<R[]> {
    const repairs = isRollbackTo(sql);
    if (this.#failure && !repairs) throw failed(this.#failure.error, 'The statement was not run');
    try {
      const rows = await this.#owner.connection.query<R>(sql, params);
      if (repairs) this.#failure = undefined;
      return rows;
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }
}

export function failed(error: unknown, consequence: string): TransactionError {
  return new TransactionError('AMBIT_TX_FAILED', `${consequence}, because of an earlier failure`, { cause: error });
}
