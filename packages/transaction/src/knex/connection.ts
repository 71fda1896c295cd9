import type { ExecuteOptions, ExecuteResult } from '../core/contract.js';
import { executeOn } from '../core/execute-on.js';
import { rowsInChunks } from '../orm/rows-in-chunks.js';
import { executorOf, type Target } from '../orm/target.js';
import type { Savepoint } from '../transaction/savepoint.js';

/** What Knex takes for a connection of its own: one query, or a transaction of Knex from its begin to its end. */
export class KnexConnection {
  /** What a transaction of Knex is; there is none on a pool. */
  readonly savepoint: Savepoint | undefined;
  /** What a transaction of Knex was asked to be; a nested run cannot differ from the transaction around it. */
  readonly terms: object;
  readonly #target: Target;

  constructor(target: Target, terms: object = {}, around?: KnexConnection) {
    this.#target = target;
    this.savepoint = target.transaction?.createSavepoint(around?.savepoint);
    this.terms = terms;
  }

  within<T>(work: () => T): T {
    return this.savepoint ? this.savepoint.within(work) : work();
  }

  execute(sql: string, values?: readonly unknown[], options?: ExecuteOptions): Promise<ExecuteResult> {
    return this.within(() => executeOn(executorOf(this.#target), sql, values, options));
  }

  /**
   * One row after the other, of which so many at a time are in memory, where a transaction is open: a cursor needs one. Where the
   * reader stops early, nobody waits for a CLOSE, which fails after a nested transaction was undone: the database closes the cursor
   * with the transaction.
   */
  async *rows(sql: string, values: readonly unknown[], batchSize: number): AsyncGenerator<object, void, undefined> {
    const { transaction } = this.#target;
    const chunks = transaction
      ? rowsInChunks(transaction.connection, sql, values, batchSize)
      : this.#inOneChunk(sql, values);
    const next = (): ReturnType<typeof chunks.next> => this.within(() => chunks.next());
    for (let chunk = await next(); !chunk.done; chunk = await next()) yield* chunk.value;
  }

  async *#inOneChunk(sql: string, values: readonly unknown[]): AsyncGenerator<object[], void, undefined> {
    yield (await this.execute(sql, values)).rows;
  }
}
