import type { IContainer } from '@ambit/container';
import { type Transaction, type TransactionOptions, TransactionStart } from '@ambit/transaction';
import { HttpError } from './errors.js';

/** The transaction of a request, from the first wish for a connection on. */
export class RequestTransaction {
  readonly #start: TransactionStart;
  readonly #onLeftOpen: (complaint: unknown) => void;
  #committing: Promise<void> | undefined = undefined;

  constructor(requestScope: IContainer, options: TransactionOptions, onLeftOpen: (complaint: unknown) => void) {
    this.#onLeftOpen = onLeftOpen;
    this.#start = new TransactionStart(requestScope, options);
  }

  /** Undefined until BEGIN has succeeded. */
  get scope(): IContainer | undefined {
    return this.#start.transaction?.scope;
  }

  get committed(): boolean {
    return this.#start.transaction?.state === 'committed';
  }

  /** Rejects with nothing left behind. */
  get begun(): Promise<Transaction> {
    return this.#start.begun;
  }

  commit(): Promise<void> {
    const { transaction, begun } = this.#start;
    // At once where that is possible: what comes next must find the end begun.
    this.#committing = transaction ? transaction.commit() : begun.then((late) => late.commit());
    return this.#committing;
  }

  /** Never rejects. */
  rollback(reason: unknown): Promise<void> {
    return this.#start.rollback(reason);
  }

  /** Never rejects. Of a commit that nobody awaits it waits for the outcome, even if COMMIT was not sent yet. */
  async undo(complaint: unknown): Promise<void> {
    await this.#committing?.catch(() => undefined);
    await this.rollback(complaint);
  }

  /** Rolls back after the answer. Whoever answers past Fastify's hooks, as after `hijack()`, can be told in no other way. */
  async leftOpen(): Promise<void> {
    const complaint = this.complaint();
    await this.undo(complaint);
    // A commit that nobody awaited was under way, and all is well; or it failed, and only now is it known how.
    if (complaint !== undefined && !this.committed) this.#onLeftOpen(this.complaint() ?? complaint);
  }

  /** Why an answer must not say that all is well, now that the handler has ended with this transaction on its hands. */
  complaint(): unknown {
    if (this.committed) return undefined;
    const error = this.#start.transaction?.error;
    if (!error) return new HttpError('AMBIT_HTTP_TRANSACTION_LEFT_OPEN');
    if (error.code !== 'AMBIT_TX_ENDED') return error;
    // Whoever rolled it back through the `IConnection` or the request gave no reason, and knew what they did.
    const { cause } = error;
    return cause === undefined || cause instanceof HttpError ? cause : error;
  }
}
