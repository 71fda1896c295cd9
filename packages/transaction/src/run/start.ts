import type { IContainer } from '@ambit/container';
import { aborted } from '../core/errors.js';
import { Settings, type TransactionOptions } from '../core/options.js';
import { AcquireRequest } from '../pool/acquire-request.js';
import type { Transaction } from '../transaction/transaction.js';
import { acquire } from './acquire.js';

/**
 * A transaction that is about to begin, for a caller that may have to roll it back while it still waits for a connection.
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
  readonly #request: AcquireRequest;
  #acquired: Transaction | undefined = undefined;
  #transaction: Transaction | undefined = undefined;

  constructor(parent: IContainer, options: TransactionOptions | Settings = {}) {
    const settings = options instanceof Settings ? options : new Settings(options);
    this.#request = new AcquireRequest(settings);
    this.begun = this.#begin(parent, settings);
  }

  /** Undefined until BEGIN has succeeded. */
  get transaction(): Transaction | undefined {
    return this.#transaction;
  }

  /** Resolves when nothing is left of it. Never rejects, and undoes no commit that was already sent. */
  async rollback(reason?: unknown): Promise<void> {
    if (!this.#transaction) {
      this.#request.cancel(reason);
      void this.#acquired?.rollback(aborted({ reason }));
    }
    const transaction = this.#transaction ?? (await this.begun.catch(() => undefined));
    await transaction?.rollback(reason);
  }

  async #begin(parent: IContainer, settings: Settings): Promise<Transaction> {
    const transaction = await acquire(parent, settings, this.#request);
    this.#acquired = transaction;
    const { cancelled } = this.#request;
    if (cancelled) void transaction.rollback(aborted(cancelled));
    await transaction.begin();
    this.#transaction = transaction;
    return transaction;
  }
}

/**
 * Acquires a connection from the `IDatabasePool` of `parent`, opens a scope tagged `transaction` under it, registers
 * the connection there as `IConnection`, and begins. When it rejects, all of that is undone already.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { beginTransaction } from '@ambit/transaction';
 *
 * async function count(requestScope: IContainer): Promise<void> {
 *   const transaction = await beginTransaction(requestScope, { isolation: 'repeatable read', readOnly: true });
 *   await transaction.commit();
 * }
 * ```
 */
export async function beginTransaction(parent: IContainer, options: TransactionOptions = {}): Promise<Transaction> {
  return new TransactionStart(parent, options).begun;
}
