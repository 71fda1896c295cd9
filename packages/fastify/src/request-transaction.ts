import type { IContainer } from '@ambit/container';
import { HttpError, isKnownBefore } from '@ambit/http/host';
import {
  type Transaction,
  TransactionError,
  type TransactionOptions,
  type TransactionSettings,
  TransactionStart,
} from '@ambit/transaction';

/** The transaction of a request, from its request for a connection on. */
export class RequestTransaction {
  /** It has run into its time limit. */
  isTooLate = false;
  readonly #start: TransactionStart;
  #committing: Promise<void> | undefined = undefined;

  constructor(requestScope: IContainer, options: TransactionOptions | TransactionSettings) {
    this.#start = new TransactionStart(requestScope, options, { guardsParent: true });
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
    // At once where that is possible: what comes next must find the commit begun.
    this.#committing = transaction ? transaction.commit() : begun.then((late) => late.commit());
    return this.#committing;
  }

  /** Commits before a response of this status is sent. Rejects where a success must not be reported. */
  async complete(status: number): Promise<void> {
    try {
      await this.commit();
    } catch (error) {
      if (status < 400 || !isKnownBefore(error)) throw error;
    }
  }

  /** Never rejects. */
  rollback(reason: unknown): Promise<void> {
    return this.#start.rollback(reason);
  }

  /** The client has disconnected. Never rejects. */
  abort(cause: HttpError): Promise<void> {
    const isBegun = this.#start.transaction !== undefined;
    return this.rollback(isBegun ? new TransactionError('AMBIT_TX_ABORTED', 'The client left', { cause }) : cause);
  }

  /** Never rejects. Of a commit that nobody awaits it waits for the outcome, even if COMMIT was not sent yet. */
  async undo(complaint: unknown): Promise<void> {
    await this.#committing?.catch(() => undefined);
    await this.rollback(complaint);
  }

  /** Rolls back after the response. A handler that responds past Fastify's hooks, as after `hijack()`, is notified in no other way. */
  async leftOpen(report: (complaint: unknown) => void): Promise<void> {
    const complaint = this.complaint();
    await this.undo(complaint);
    // A commit that nobody awaited was in progress, and has succeeded; or it failed, and only now is it known how.
    if (complaint !== undefined && !this.committed) report(this.complaint() ?? complaint);
  }

  /** Why a response must not report success, now that the handler has finished with this transaction open. */
  complaint(): unknown {
    if (this.committed) return undefined;
    const error = this.#start.transaction?.error;
    if (!error) return new HttpError('AMBIT_HTTP_TRANSACTION_LEFT_OPEN');
    if (error.code !== 'AMBIT_TX_FINISHED') return error;
    // A handler that rolled it back through the `IConnection` or the request gave no reason, and knew what it did.
    const { cause } = error;
    return cause === undefined || cause instanceof HttpError ? cause : error;
  }
}
