import type { IContainer } from '@ambit/container';
import { checkFunctions, checkTimes, HttpError, isAfterDisconnect, isKnownBefore, isServerError } from '@ambit/host';
import {
  inOwnContext,
  type Transaction,
  TransactionError,
  type TransactionOptions,
  TransactionStart,
} from '@ambit/transaction';
import type { Handler } from './handler.js';
import { ActiveRequest } from './request-scopes.js';
import { discard } from './response-body.js';

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
 *
 * async function serve(request: Request, scope: IContainer, handler: (scope: IContainer) => Promise<Response>) {
 *   const transaction = new RequestTransaction(scope, () => request.signal, { isolation: 'serializable' });
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
   * @param options - the terms of the transaction, and which responses roll back
   */
  constructor(
    requestScope: IContainer,
    signal: () => AbortSignal,
    options: TransactionOptions & Pick<WithTransactionOptions, 'rollbackOn'>,
  ) {
    const { rollbackOn = isServerError, ...others } = options;
    this.#rollbackOn = rollbackOn;
    this.#active = ActiveRequest.of(requestScope);
    // A scope that the application opened by other means than ours does not know when the client leaves.
    const terms = this.#active ? others : { ...others, signal: signal() };
    this.#start = new TransactionStart(requestScope, terms, { guardsParent: true });
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

/**
 * Runs the handler in a transaction, with the transaction scope in place of the request scope. COMMIT succeeds before the
 * response is returned, so it is sent only when its work is stored. A handler that throws or returns no response that can be
 * sent, a response of a status that `rollbackOn` names, a client that leaves and the time limit roll back.
 *
 * @param handler - called when BEGIN has succeeded. A response that streams is sent after COMMIT, so it must not need the
 *   connection.
 * @param options - those of `beginTransaction()`, and `rollbackOn`
 * @returns a handler for `createHandler()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION`: an option is invalid; per request `AMBIT_HTTP_NO_RESPONSE`: the handler returned nothing that
 *   can be sent
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 *
 * interface Orders {
 *   create(body: unknown): Promise<object>;
 * }
 * const container = new Container({ tags: ['application'] });
 * const placeOrder = withTransaction(async (request, scope) => {
 *   const order = await scope.resolve<Orders>('IOrderRepository').create(await request.json());
 *   return Response.json(order, { status: 201 });
 * }, { isolation: 'serializable' });
 *
 * export default { fetch: createHandler(container, placeOrder) };
 * ```
 */
export function withTransaction<Q extends Request = Request, C = unknown, R extends Response = Response>(
  handler: Handler<Q, C, R>,
  options: WithTransactionOptions<Q> = {},
): Handler<Q, C, R> {
  checkTransactionOptions(options);
  const { onError, ...others } = options;
  const run: Handler<Q, C, R> = async (request, requestScope, context) => {
    const bound = onError
      ? { ...others, onError: (error: Parameters<typeof onError>[0]) => onError(error, request) }
      : others;
    const transaction = new RequestTransaction(requestScope, () => request.signal, bound);
    const scope = await transaction.begin();
    let response: R | undefined;
    try {
      response = await transaction.run(async () => {
        const handled = await handler(request, scope, context);
        if (transaction.isAbandoned) discard(handled);
        return handled;
      });
      await transaction.complete(sendableStatus(response));
      return response;
    } catch (error) {
      await transaction.rollback(error);
      discard(response);
      throw error;
    }
  };
  return (request, requestScope, context) => inOwnContext(run, request, requestScope, context);
}

/** The status, of what the host will be able to send. */
function sendableStatus(response: Response): number {
  const { status, bodyUsed, body } = Object(response) as Response;
  // A status of 0 is that of `Response.error()`.
  if (!status || bodyUsed || body?.locked) throw new HttpError('AMBIT_HTTP_NO_RESPONSE');
  return status;
}
