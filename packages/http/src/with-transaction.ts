import type { ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { checkFunctions, checkTimes, HttpError, report } from '@ambit/host';
import {
  inOwnContext,
  type Transaction,
  TransactionError,
  type TransactionOptions,
  TransactionSettings,
  TransactionStart,
} from '@ambit/transaction';
import { ActiveRequest } from './active-request.js';
import { CurrentScope } from './current-scope.js';
import { closeUnlessEnded } from './error-response.js';
import type { HeldResponseOptions } from './response-gate.js';
import { Load } from './load.js';
import { type Handler, nameOf, type RequestHost, type ScopedRequest } from './request.js';
import { RequestTransaction } from './request-transaction.js';

/** The terms of the transaction of a handler, and when its response rolls back. */
export interface WithTransactionOptions
  extends Omit<TransactionOptions, 'onError' | 'signal'>, HeldResponseOptions<ScopedRequest> {
  /** Called with failures that change no outcome. Default: a process warning. */
  readonly onError?: (error: TransactionError, req: ScopedRequest) => void;
}

/**
 * Runs a handler in a transaction, and calls it with the scope of the transaction. The response is held back until COMMIT
 * has succeeded. A handler that fails, and a client that leaves, roll back at once.
 *
 * @param handler - the handler that needs a transaction
 * @param options - the terms of the transaction
 * @returns a handler for `createHandler()`
 * @throws `HttpError` `AMBIT_HTTP_OPTION` or `TransactionError` `AMBIT_TX_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import type { IContainer } from '@ambit/container';
 * import type { IConnection } from '@ambit/transaction';
 *
 * declare const container: IContainer;
 * const placeOrder = withTransaction(async (_req, res, scope) => {
 *   await scope.resolve<IConnection>('IConnection').query('INSERT INTO orders (id) VALUES ($1)', ['42']);
 *   res.writeHead(201).end();
 * });
 * createServer(createHandler(container, placeOrder)).listen(3000);
 * ```
 */
export function withTransaction(handler: Handler, options: WithTransactionOptions = {}): Handler {
  checkTimes(options, 'acquireTimeoutMs', 'timeoutMs', 'endTimeoutMs', 'cancelAfterMs');
  checkFunctions(options, 'rollbackOn', 'onSecondResponse', 'onError');
  const { onError, ...others } = options;
  const settings = TransactionSettings.of(others);
  const begin: Handler = async (req, res, scope) => {
    const own = onError ? settings.with({ onError: (error) => onError(error, req) }) : settings;
    const begun = await beginTransaction(req, res, scope, own);
    req.transactionScope = begun.scope;
    await new HandlerTransaction(req, res, begun, options).run(handler, begun.scope);
  };
  return function transaction(req, res, scope) {
    return inOwnContext(begin, req, res, scope);
  };
}

/**
 * Begins a transaction that is rolled back when the client leaves, for a host that holds the response back until COMMIT.
 *
 * @param req - the request
 * @param res - its response, of which nothing was sent
 * @param scope - the request scope
 * @param options - the terms of the transaction, or settings that were made once for many
 * @returns the transaction, begun
 * @throws `HttpError` `AMBIT_HTTP_TRANSACTION_STARTED`: the request has a transaction already; `AMBIT_HTTP_HEAD_SENT`: the response has
 *   begun. `TransactionError`: no connection could be acquired, or BEGIN failed. `ContainerError`: the scope has no `IDatabasePool`
 *
 * @example
 * ```ts
 * import type { ServerResponse } from 'node:http';
 * import type { ScopedRequest } from '@ambit/http';
 * import { beginTransaction } from '@ambit/http/host';
 *
 * async function begin(req: ScopedRequest, res: ServerResponse): Promise<void> {
 *   const transaction = await beginTransaction(req, res, req.container, { isolation: 'serializable' });
 *   req.transactionScope = transaction.scope; // your RequestTransaction commits it, or rolls it back
 * }
 * ```
 */
export async function beginTransaction(
  req: ScopedRequest,
  res: ServerResponse,
  scope: IContainer,
  options: TransactionOptions | TransactionSettings,
): Promise<Transaction> {
  if (req.transactionScope) throw new HttpError('AMBIT_HTTP_TRANSACTION_STARTED');
  if (res.headersSent) throw headSent(req, res);
  const start = new TransactionStart(scope, options, { guardsParent: true });
  const request = ActiveRequest.of(req, res) ?? new ActiveRequest(req, res, OTHER_HOST);
  request.onDisconnect((reason) => abort(start, reason));
  const transaction = await start.begun;
  if (!res.headersSent) return transaction;
  // What has left cannot be held back until COMMIT, nor be replaced by an error.
  await transaction.rollback();
  throw headSent(req, res);
}

function headSent(req: ScopedRequest, res: ServerResponse): HttpError {
  closeUnlessEnded(res);
  return new HttpError('AMBIT_HTTP_HEAD_SENT', nameOf(req));
}

/** For an application that opens the request scope by other means; it opens and disposes nothing. */
const OTHER_HOST: RequestHost = { load: new Load({}), onDisposeError: () => undefined };

/** The client has disconnected, and nobody waits for the work any more. */
function abort(start: TransactionStart, reason: HttpError): void {
  const { transaction } = start;
  if (!transaction) void start.rollback(reason);
  else void transaction.rollback(new TransactionError('AMBIT_TX_ABORTED', 'The client left', { cause: reason }));
}

/** A transaction whose failures `createHandler()` responds to. */
class HandlerTransaction extends RequestTransaction {
  readonly #req: ScopedRequest;
  readonly #onSecondResponse: WithTransactionOptions['onSecondResponse'];
  readonly #released: Promise<void>;
  #release!: () => void;
  #refuse!: (error: unknown) => void;

  constructor(req: ScopedRequest, res: ServerResponse, transaction: Transaction, options: WithTransactionOptions) {
    super(req, res, transaction, options);
    this.#req = req;
    this.#onSecondResponse = options.onSecondResponse;
    this.#released = new Promise((resolve, reject) => {
      this.#release = resolve;
      this.#refuse = reject;
    });
  }

  /** Resolves when the handler is done and its response may leave, and rejects when another must take its place. */
  async run(handler: Handler, scope: IContainer): Promise<void> {
    await Promise.all([this.#call(handler, scope), this.#released]);
  }

  override async decide(status: number): Promise<void> {
    await super.decide(status);
    this.#release();
  }

  protected handleError(error: unknown): void {
    this.#refuse(error);
  }

  protected report(error: unknown): void {
    report(this.#onSecondResponse, error, this.#req);
  }

  async #call(handler: Handler, scope: IContainer): Promise<void> {
    try {
      await CurrentScope.run(this.#req, () => handler(this.#req, this.res, scope));
    } catch (error) {
      this.fail(error);
      // The handler is done: what responds now is `onError`.
      this.isHandlingError = true;
      if (this.isReplaced) this.reportLate(error);
      else if (!this.hold(this.#refuse, error)) throw error;
    }
  }
}
