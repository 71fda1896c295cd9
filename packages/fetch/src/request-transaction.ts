import type { IContainer } from '@ambit/container';
import { type Transaction, TransactionError, type TransactionOptions, TransactionStart } from '@ambit/transaction';
import { ActiveRequest } from './active-request.js';
import { HttpError } from './errors.js';
import { checkTime, checkType } from './options.js';

export interface WithTransactionOptions<Q = Request> extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Called with failures that change no outcome. Default: a process warning. */
  readonly onError?: (error: TransactionError, request: Q) => void;
  /** Whether a response of this status rolls back. Default: none does; only a failure does. */
  readonly rollbackOn?: (status: number) => boolean;
}

/** A response of status 400 or above may say so where the handler knew, or could know, that nothing will be committed. */
const KNOWN_BEFORE: ReadonlySet<string> = new Set(['AMBIT_TX_ENDED', 'AMBIT_TX_FAILED']);

/** What is rolled back for these does not wait for the handler; of everything else the handler may know. */
const ABANDONED: ReadonlySet<string> = new Set(['AMBIT_TX_ABORTED', 'AMBIT_TX_TIMEOUT']);

export function checkTransactionOptions<Q>(options: WithTransactionOptions<Q>): void {
  for (const name of ['acquireTimeoutMs', 'timeoutMs', 'endTimeoutMs', 'cancelAfterMs'] as const)
    checkTime(name, options[name]);
  checkType(options, 'function', 'onError', 'rollbackOn');
}

/** The transaction around one handler, from the request for a connection until it has committed or was rolled back. */
export class RequestTransaction {
  readonly #start: TransactionStart;
  readonly #active: ActiveRequest | undefined;
  readonly #rollbackOn: ((status: number) => boolean) | undefined;
  #isAbandoned = false;

  constructor(
    requestScope: IContainer,
    signal: () => AbortSignal,
    options: TransactionOptions & Pick<WithTransactionOptions, 'rollbackOn'>,
  ) {
    const { rollbackOn, ...others } = options;
    this.#rollbackOn = rollbackOn;
    this.#active = ActiveRequest.of(requestScope);
    // A scope that the application opened by other means than ours does not know when the client leaves.
    this.#start = new TransactionStart(requestScope, this.#active ? others : { ...others, signal: signal() });
    if (this.#active) this.#active.transaction = this;
  }

  /** Resolves with the transaction scope when BEGIN has succeeded. Rejects with nothing left behind. */
  async begin(): Promise<IContainer> {
    const { scope } = await this.#start.begun;
    return scope;
  }

  /** Whether `run()` has rejected before its work was done. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Settles as `work` does, but rejects at the time limit, or when the client leaves: the work may never settle. */
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

  /** Commits, or rolls back for a response of this status. Rejects where a success must not be reported. */
  async complete(status: number): Promise<void> {
    if (this.#rollbackOn?.(status)) return this.rollback();
    try {
      await this.#transaction.commit();
    } catch (error) {
      const isKnown = error instanceof TransactionError && KNOWN_BEFORE.has(error.code);
      if (status < 400 || !isKnown) throw error;
    }
    this.#forget();
  }

  /** Never rejects, and undoes no commit that was already sent. */
  async rollback(reason?: unknown): Promise<void> {
    const { transaction } = this.#start;
    if (transaction && reason instanceof HttpError)
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
