import type { IContainer } from '@ambit/container';
import { checkFunctions, checkTimes, HttpError, isAfterDisconnect, isKnownBefore, isServerError } from '@ambit/host';
import {
  type Transaction,
  TransactionError,
  type TransactionOptions,
  type TransactionSettings,
  TransactionStart,
} from '@ambit/transaction';
import { ActiveRequest } from './active-request.js';

/** The terms of the transaction of a handler, and when its response rolls back. */
export interface WithTransactionOptions<Q = Request> extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Called with failures that change no outcome. Default: a process warning. */
  readonly onError?: (error: TransactionError, request: Q) => void;
  /** Whether a response of this status rolls back. Default: one of 500 or more does, since it says that the work failed. */
  readonly rollbackOn?: (status: number) => boolean;
}

/** What is rolled back for these does not wait for the handler; of everything else the handler may know. */
const ABANDONED: ReadonlySet<string> = new Set(['AMBIT_TX_ABORTED', 'AMBIT_TX_TIMEOUT']);

/**
 * Refuses invalid options of a transaction when the application starts, and not at the first request.
 *
 * @param options - the options
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: a time is no number of milliseconds, or a callback no function
 *
 * @example
 * ```ts
 * import { checkTransactionOptions, type WithTransactionOptions } from '@ambit/fetch/host';
 *
 * function inTransaction(options: WithTransactionOptions = {}) {
 *   checkTransactionOptions(options);
 * }
 * ```
 */
export function checkTransactionOptions<Q>(options: WithTransactionOptions<Q>): void {
  checkTimes(options, 'acquireTimeoutMs', 'timeoutMs', 'endTimeoutMs', 'cancelAfterMs');
  checkFunctions(options, 'onError', 'rollbackOn');
}

/**
 * The transaction around one handler, from the request for a connection until it has committed or was rolled back.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { RequestTransaction } from '@ambit/fetch/host';
 * import { TransactionSettings } from '@ambit/transaction';
 *
 * const settings = TransactionSettings.of({ isolation: 'serializable' });
 * async function serve(request: Request, scope: IContainer, handler: (scope: IContainer) => Promise<Response>) {
 *   const transaction = new RequestTransaction(scope, () => request.signal, settings);
 *   const transactionScope = await transaction.begin();
 *   try {
 *     const response = await transaction.run(() => handler(transactionScope));
 *     await transaction.complete(response.status);
 *     return response;
 *   } catch (error) {
 *     await transaction.rollback(error);
 *     throw error;
 *   }
 * }
 * ```
 */
export class RequestTransaction {
  readonly #start: TransactionStart;
  readonly #active: ActiveRequest | undefined;
  readonly #rollbackOn: (status: number) => boolean;
  #isAbandoned = false;

  /**
   * Asks for a connection at once.
   *
   * @param requestScope - the scope of the request
   * @param signal - called for the signal of a request whose scope was opened by other means than ours
   * @param settings - the terms of the transaction
   * @param rollbackOn - whether a response of this status rolls back. Default: one of 500 or more does
   */
  constructor(
    requestScope: IContainer,
    signal: () => AbortSignal,
    settings: TransactionSettings,
    rollbackOn: (status: number) => boolean = isServerError,
  ) {
    this.#rollbackOn = rollbackOn;
    this.#active = ActiveRequest.of(requestScope);
    // A scope that the application opened by other means than ours does not know when the client leaves.
    const own = this.#active ? settings : settings.with({ signal: signal() });
    this.#start = new TransactionStart(requestScope, own, { guardsParent: true });
    if (this.#active) this.#active.transaction = this;
  }

  /**
   * Waits for BEGIN. A rejection leaves nothing behind.
   *
   * @returns the transaction scope
   * @throws `TransactionError`: no connection could be acquired, BEGIN failed, or the client has left.
   *   `ContainerError`: the scope has no `IDatabasePool`
   */
  async begin(): Promise<IContainer> {
    const { scope } = await this.#start.begun;
    return scope;
  }

  /** Whether `run()` has rejected before its work was done. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /**
   * Whether this failed only because the client has left: there is nobody to respond to, and nothing to report.
   *
   * @param error - what the work, BEGIN or COMMIT failed with
   * @returns false for every other failure, and for a request whose scope was opened by other means than ours
   */
  isOfDisconnect(error: unknown): boolean {
    return this.#active?.disconnectReason !== undefined && isAfterDisconnect(error);
  }

  /**
   * Settles as `work` does, but rejects at the time limit, or when the client leaves: the work may never settle.
   *
   * @param work - the handler
   * @returns what the work resolves to
   * @throws what the work rejects with; `TransactionError` `AMBIT_TX_TIMEOUT`: the time limit has passed; `AMBIT_TX_ABORTED`: the
   *   client left
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    const { scope } = this.#transaction;
    return new Promise((resolve, reject) => {
      this.#transaction.onLost((error) => {
        if (!ABANDONED.has(error.code)) return;
        this.#isAbandoned = true;
        reject(error);
      });
      const working = this.#active ? this.#active.run(work, scope) : work();
      working.then(resolve, reject);
    });
  }

  /**
   * Commits, or rolls back for a response of this status.
   *
   * @param status - the status of the response
   * @throws `TransactionError`: COMMIT failed, so a success must not be reported
   */
  async complete(status: number): Promise<void> {
    if (this.#rollbackOn(status)) return this.rollback();
    try {
      await this.#transaction.commit();
    } catch (error) {
      if (status < 400 || !isKnownBefore(error)) throw error;
    }
    this.#forget();
  }

  /**
   * Rolls back. Never rejects, and undoes no commit that was already sent.
   *
   * @param reason - why; the statements that are refused from now on have it as their cause
   */
  async rollback(reason?: unknown): Promise<void> {
    const { transaction } = this.#start;
    if (transaction && reason instanceof HttpError && reason.code === 'AMBIT_HTTP_CLIENT_DISCONNECTED')
      await transaction.rollback(new TransactionError('AMBIT_TX_ABORTED', 'The client left', { cause: reason }));
    else await this.#start.rollback(reason);
    this.#forget();
  }

  get #transaction(): Transaction {
    return this.#start.transaction as Transaction;
  }

  #forget(): void {
    if (this.#active?.transaction === this) this.#active.transaction = undefined;
  }
}
