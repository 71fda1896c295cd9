import type { IContainer } from '@ambit/container';
import { acquire } from './acquire.js';
import { Acquisition } from './acquisition.js';
import { aborted } from './errors.js';
import { readOptions, type TransactionOptions } from './options.js';
import type { Transaction } from './transaction.js';

/**
 * A transaction from the first wish for a connection on, for whoever may have to roll it back before it has begun.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type Transaction, TransactionStart } from '@ambit/transaction';
 *
 * function beginWhileOpen(scope: IContainer, socket: { once(event: 'close', fn: () => void): void }): Promise<Transaction> {
 *   const start = new TransactionStart(scope);
 *   socket.once('close', () => void start.rollback());
 *   return start.begun;
 * }
 * ```
 */
export class TransactionStart {
  /** Resolves when BEGIN has succeeded. Rejects with nothing left behind. */
  readonly begun: Promise<Transaction>;
  readonly #acquisition: Acquisition;
  #acquired: Transaction | undefined = undefined;
  #transaction: Transaction | undefined = undefined;

  constructor(parent: IContainer, options: TransactionOptions = {}) {
    const settings = readOptions(options);
    this.#acquisition = new Acquisition(settings);
    this.begun = this.#begin(acquire(parent, settings, this.#acquisition));
  }

  /** Undefined until BEGIN has succeeded. */
  get transaction(): Transaction | undefined {
    return this.#transaction;
  }

  /** Resolves when nothing is left of it. Never rejects, and undoes no commit that was already sent. */
  async rollback(reason?: unknown): Promise<void> {
    if (!this.#transaction) {
      this.#acquisition.giveUp(reason);
      void this.#acquired?.rollback(aborted({ reason }));
    }
    const transaction = this.#transaction ?? (await this.begun.catch(() => undefined));
    await transaction?.rollback(reason);
  }

  async #begin(acquiring: Promise<Transaction>): Promise<Transaction> {
    const transaction = await acquiring;
    this.#acquired = transaction;
    const { givenUp } = this.#acquisition;
    if (givenUp) void transaction.rollback(aborted(givenUp));
    await transaction.begin();
    this.#transaction = transaction;
    return transaction;
  }
}
