import type { IContainer } from '@ambit/container';
import { beginTransaction, type Transaction, type TransactionOptions } from '@ambit/transaction';
import { answerable, HttpError } from './errors.js';

/** The transaction of a request, from the first wish for a connection on. */
export class RequestTransaction {
  readonly #abort = new AbortController();
  readonly #unfollow: () => void;
  readonly #started: Promise<Transaction>;
  #transaction: Transaction | undefined;

  constructor(requestScope: IContainer, options: TransactionOptions, signals: readonly AbortSignal[]) {
    this.#unfollow = follow(this.#abort, signals);
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
      throw answerable(error, 'The transaction did not start');
    }
  }

  async commit(): Promise<void> {
    try {
      await (await this.#started).commit();
    } catch (error) {
      throw answerable(error, 'The transaction was not committed');
    } finally {
      this.#unfollow();
    }
  }

  /** Never rejects. */
  async rollback(reason: unknown): Promise<void> {
    if (!this.#transaction) this.#abort.abort(reason);
    const transaction = await this.#started.catch(() => undefined);
    await transaction?.rollback(reason);
    this.#unfollow();
  }

  /** Why an answer must not say that all is well, now that the handler has ended with this transaction on its hands. */
  complaint(): unknown {
    const error = this.#transaction?.error;
    // Whoever ended it through the `IConnection` knew what they did.
    if (this.committed || error?.code === 'AMBIT_TX_ENDED') return undefined;
    return error
      ? answerable(error, 'The transaction was not committed')
      : new HttpError('AMBIT_HTTP_TRANSACTION_LEFT_OPEN');
  }

  async #start(requestScope: IContainer, options: TransactionOptions): Promise<Transaction> {
    this.#transaction = await beginTransaction(requestScope, { ...options, signal: this.#abort.signal });
    return this.#transaction;
  }
}

/** `AbortSignal.any()` would do, but on Node 20 what it makes stays in memory as long as the signals it is made of. */
function follow(controller: AbortController, signals: readonly AbortSignal[]): () => void {
  const stops = signals.map((signal) => {
    const onAbort = (): void => controller.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    return () => signal.removeEventListener('abort', onAbort);
  });
  return () => {
    for (const stop of stops) stop();
  };
}
