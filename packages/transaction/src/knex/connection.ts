import type { ExecuteOptions, ExecuteResult, IConnection } from '../core/contract.js';
import { rowsInChunks } from '../orm/rows-in-chunks.js';
import type { Savepoint } from '../transaction/savepoint.js';
import type { Transaction } from '../transaction/transaction.js';

/** What Knex takes for a connection of its own: one query, or a transaction of Knex from its begin to its end. */
export class KnexConnection {
  readonly savepoint: Savepoint;
  /** What a transaction of Knex was asked to be; a nested run cannot differ from the transaction around it. */
  readonly terms: object;
  readonly #connection: IConnection;

  constructor(transaction: Transaction, terms: object = {}, around?: KnexConnection) {
    this.#connection = transaction.connection;
    this.savepoint = transaction.createSavepoint(around?.savepoint);
    this.terms = terms;
  }

  execute(sql: string, values?: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult> {
    return this.savepoint.within(() => this.#connection.execute(sql, values, options));
  }

  /**
   * One row after the other, of which so many at a time are in memory. Where the reader stops early, nobody waits for a CLOSE,
   * which fails after a nested transaction was undone: the database closes the cursor with the transaction.
   */
  async *rows(sql: string, values: readonly unknown[], batchSize: number): AsyncGenerator<object, void, undefined> {
    const chunks = rowsInChunks(this.#connection, sql, values, batchSize);
    const next = (): ReturnType<typeof chunks.next> => this.savepoint.within(() => chunks.next());
    for (let chunk = await next(); !chunk.done; chunk = await next()) yield* chunk.value;
  }
}
