import type { IContainer } from '@ambit/container';
import { beginTransaction, type Transaction, type TransactionOptions } from '@ambit/transaction';
import { HttpError } from './errors.js';

/** The transaction of a request, from the first wish for a connection on. */
export class RequestTransaction {
  readonly #abort = new AbortController();
  readonly #unfollow: () => void;
  readonly #onLeftOpen: (complaint: unknown) => void;
  readonly #started: Promise<Transaction>;
  #transaction: Transaction | undefined;

  constructor(requestScope: IContainer, options: TransactionOptions, onLeftOpen: (complaint: unknown) => void) {
    this.#onLeftOpen = onLeftOpen;
    this.#unfollow = follow(this.#abort, options.signal);
    this.#started = this.#start(requestScope, options);
  }

  /** Undefined until BEGIN has succeeded. */
  get scope(): IContainer | undefined {
    return this.#transaction?.scope;
  }

  get committed(): boolean {
    return this.#transaction?.state === 'committed';
  }

  async started(): Promise<IContainer> {
    try {
      return (await this.#started).scope;
    } catch (error) {
      this.#unfollow();
      throw error;
    }
  }

  async commit(): Promise<void> {
    try {
      // At once where that is possible: what comes next must find the end begun.
      await (this.#transaction ?? (await this.#started)).commit();
    } finally {
      this.#unfollow();
    }
  }

  /** Never rejects. */
  async rollback(reason: unknown): Promise<void> {
    if (!this.#transaction) this.#abort.abort(reason);
    const transaction = this.#transaction ?? (await this.#started.catch(() => undefined));
    await transaction?.rollback(reason);
    this.#unfollow();
  }

  /** Rolls back after the answer. Whoever answers past Fastify's hooks, as after `hijack()`, can be told in no other way. */
  async leftOpen(): Promise<void> {
    const complaint = this.complaint();
    await this.rollback(complaint);
    // A commit that nobody awaited was under way, and all is well.
    if (complaint !== undefined && !this.committed) this.#onLeftOpen(complaint);
  }

  /** Why an answer must not say that all is well, now that the handler has ended with this transaction on its hands. */
  complaint(): unknown {
    const error = this.#transaction?.error;
    // Whoever ended it through the `IConnection` knew what they did.
    if (this.committed || error?.code === 'AMBIT_TX_ENDED') return undefined;
    return error ?? new HttpError('AMBIT_HTTP_TRANSACTION_LEFT_OPEN');
  }

  async #start(requestScope: IContainer, options: TransactionOptions): Promise<Transaction> {
    this.#transaction = await beginTransaction(requestScope, { ...options, signal: this.#abort.signal });
    return this.#transaction;
  }
}

/** `AbortSignal.any()` would do, but on Node 20 what it makes stays in memory as long as the signal it is made of. */
function follow(controller: AbortController, signal: AbortSignal | undefined): () => void {
  const onAbort = (): void => controller.abort(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  return () => signal?.removeEventListener('abort', onAbort);
}
