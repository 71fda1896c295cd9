import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import {
  checkFunctions,
  checkTransactionOptions,
  HttpError,
  isAfterDisconnect,
  isDisconnect,
  report,
  RequestTransaction,
  type RequestTransactionOptions,
  type RequestTransactionTerms,
  termsOf,
} from '@ambit/host';
import { inOwnContext, type TransactionError } from '@ambit/transaction';
import { ConnectedRequest, CurrentScope, type RequestHost } from './connected-request.js';
import { Load } from './connection.js';
import type { Handler, ScopedRequest } from './handler.js';
import {
  closeUnlessEnded,
  type GateKeeper,
  type HeldCall,
  type HeldResponseOptions,
  readRest,
  respondPlainly,
  ResponseGate,
  TIME_TO_RESPOND_MS,
} from './response-gate.js';

/**
 * The response of one request, which is held back until its transaction has committed. That commits or rolls back once: with
 * the first response, with the failure of a handler before it, or at its time limit. A host says where its error handlers are.
 *
 * @example
 * ```ts
 * import { report, HeldResponse } from '@ambit/http/host';
 *
 * class NextResponse extends HeldResponse {
 *   next: (error: unknown) => void = () => undefined;
 *   protected handleError(error: unknown): void {
 *     this.next(error);
 *   }
 *   protected report(error: unknown): void {
 *     report(undefined, error, this.req);
 *   }
 * }
 * ```
 */
export abstract class HeldResponse implements GateKeeper {
  /** Set by the host while it calls an error handler. */
  isHandlingError = false;
  /** The first response has come, though it may still wait for COMMIT. */
  hasResponse = false;
  protected readonly req: IncomingMessage;
  protected readonly res: ServerResponse;
  readonly #transaction: RequestTransaction;
  readonly #gate: ResponseGate;
  /** Why it is rolled back, whatever the response says. */
  #failure: { readonly error: unknown; readonly isOfHandler: boolean } | undefined = undefined;
  /** The response comes from where a failure would not have been seen. */
  #isUnseen = false;
  /** COMMIT is in progress. */
  #isDeciding = false;
  /** How the handlers went on meanwhile. */
  readonly #held: HeldCall[] = [];
  /** Responds where the error handlers leave it at a success. */
  #substitute: NodeJS.Timeout | undefined = undefined;

  /**
   * Holds the response back from now on.
   *
   * @param req - the request
   * @param res - its response, of which nothing was sent
   * @param transaction - the transaction, begun by {@link beginTransaction}
   */
  constructor(req: IncomingMessage, res: ServerResponse, transaction: RequestTransaction) {
    this.req = req;
    this.res = res;
    this.#transaction = transaction;
    this.#gate = new ResponseGate(res, this);
    transaction.current?.onLost((error) => this.#lose(error));
    CurrentScope.of(req)?.enter(transaction.scope);
  }

  /** The handlers behind it have failed, or have responded: what comes now is no part of it. */
  get isOver(): boolean {
    return this.hasResponse || this.#failure !== undefined || this.isHandlingError;
  }

  /** The error handlers were called in place of a handler that is still running. */
  get isTooLate(): boolean {
    return this.#transaction.timeout !== undefined;
  }

  /** The error handlers were called in place of the response of handlers that may go on. */
  get isReplaced(): boolean {
    if (this.isTooLate) return true;
    return this.#failure?.isOfHandler === false && !this.isOfDisconnect(this.#failure.error);
  }

  /**
   * Whether this failed only because the client has left: the host passes it to no error handler.
   *
   * @param error - what the handler failed with, or COMMIT
   * @returns whether there is nobody to respond to, and nothing to report
   */
  isOfDisconnect(error: unknown): boolean {
    return isDisconnect(this.#transaction.current?.error) && isAfterDisconnect(error);
  }

  /**
   * Rolls back. Called by the host when a handler failed; after the first response it changes nothing.
   *
   * @param error - what the handler threw, or passed to `next`
   */
  fail(error: unknown): void {
    // A handler that goes on too late must still be refused its success; after the first response, a failure changes nothing.
    if (this.isTooLate || !this.#gate.forget() || this.#failure) return;
    this.#failure = { error, isOfHandler: true };
    CurrentScope.of(this.req)?.leave();
    void this.#transaction.rollback(error);
  }

  /**
   * Reports what a handler failed with whose response was replaced: the error handlers were called already. What follows from the
   * replacement is not reported.
   *
   * @param error - what the handler threw, or passed to `next`
   */
  reportLate(error: unknown): void {
    const { code } = Object(error) as { readonly code?: unknown };
    if (!this.isTooLate && this.isError(error) && code !== 'ERR_STREAM_PREMATURE_CLOSE') this.report(error);
  }

  /**
   * Holds a failure back while COMMIT is in progress: until then it is open which error the handlers get.
   *
   * @param next - called with the error when COMMIT has succeeded
   * @param error - what the handler failed with
   * @returns whether it waits; if not, the host calls its error handlers at once
   */
  hold(next: (error?: unknown) => void, error: unknown): boolean {
    if (this.#isDeciding) this.#held.push({ next, error });
    return this.#isDeciding;
  }

  /**
   * Whether a response of this status may go out: what is rolled back is not reported as a success. Only what a handler's own failure
   * means is for the error handlers to say, and only of what responds while one is being called is it certain that it is the error handler.
   *
   * @param status - the status of the response
   * @returns false if the response must be discarded
   */
  admits(status: number): boolean {
    if (status >= 400) return true;
    return !this.#transaction.timeout && (!this.#failure || (this.#failure.isOfHandler && this.isHandlingError));
  }

  /**
   * A response was discarded: if no error handler responds within a second, the client gets a plain error.
   *
   * @param isWhole - it was discarded with its end; otherwise the rest of it may follow
   */
  onDiscarded(isWhole: boolean): void {
    // Nobody waits for a response.
    if (this.isOfDisconnect(this.#failure?.error)) return;
    // It is the response of an error handler, and no other will come.
    if (this.isHandlingError) return this.#respond();
    if (isWhole) this.#reportDropped();
    // It may be that of the handler, and the error handler takes its time.
    if (this.#substitute) return;
    this.#substitute = setTimeout(() => this.#respond(), TIME_TO_RESPOND_MS);
    this.res.once('close', () => clearTimeout(this.#substitute));
  }

  /** The first response has come: what a handler does from now on is no part of the transaction. */
  onFirstResponse(): void {
    clearTimeout(this.#substitute);
    this.hasResponse = true;
    CurrentScope.of(this.req)?.leave();
    if (this.#failure || this.wouldSeeFailure()) return;
    this.#isUnseen = true;
  }

  /**
   * Commits or rolls back, as the response and the failures before it say.
   *
   * @param status - the status of the response
   * @throws what the response is replaced by: `HttpError` `AMBIT_HTTP_FAILURES_UNSEEN`: a failure of the handler could not be seen; the
   *   `TransactionError` of a COMMIT that failed; what `rollbackOn` throws
   */
  async decide(status: number): Promise<void> {
    this.#isDeciding = true;
    try {
      await this.#close(status);
    } catch (error) {
      await readRest(this.req);
      throw error;
    } finally {
      this.#isDeciding = false;
    }
    const held = this.#takeHeld();
    for (const { next, error } of held) next(error);
    if (!held[0]) return;
    // The last handler of Express responds when it has read the request, and that must be refused while this response waits.
    await readRest(this.req);
    await new Promise(setImmediate);
  }

  /**
   * The response must not go out: calls the error handlers.
   *
   * @param error - what `decide()` rejected with
   */
  onRefused(error: unknown): void {
    // Its error handlers were called already.
    if (this.#transaction.timeout) return this.#respond();
    this.#failure ??= { error, isOfHandler: false };
    const held = this.#takeHeld();
    // Nobody waits for a response, but what else the handler failed with is for its error handlers.
    if (held[0] && this.isOfDisconnect(error)) return held[0].next(held[0].error);
    // The error handlers can be called once. With what the handler passed on meanwhile, the reporter is.
    for (const call of held) if (this.isError(call.error)) this.report(call.error);
    this.handleError(error);
  }

  /** A second response was dropped: reports `AMBIT_HTTP_SECOND_RESPONSE`. */
  onSecondResponse(): void {
    this.report(new HttpError('AMBIT_HTTP_SECOND_RESPONSE', nameOf(this.req)));
  }

  /** Passes an error to the error handlers. */
  protected abstract handleError(error: unknown): void;

  /** Reports what no response can carry. */
  protected abstract report(error: unknown): void;

  /** Whether the host would have been notified of a failure of what responds now. */
  protected wouldSeeFailure(): boolean {
    return true;
  }

  protected isError(_error: unknown): boolean {
    return true;
  }

  /** Calls the error handlers at the time limit, while the handler goes on. */
  protected timeOut(error: TransactionError): void {
    this.handleError(error);
  }

  #takeHeld(): readonly HeldCall[] {
    return this.#held.splice(0);
  }

  /** With what has failed, which may not have reached its error handler yet. */
  #reportDropped(): void {
    const cause = this.#transaction.timeout ?? this.#failure?.error;
    this.report(new HttpError('AMBIT_HTTP_SUCCESS_DROPPED', nameOf(this.req), { cause }));
  }

  #respond(): void {
    // An error handler may have written a head, and no more.
    this.#gate.forget();
    respondPlainly(this.res, this.#transaction.timeout ?? this.#failure?.error);
  }

  async #close(status: number): Promise<void> {
    let rollsBack = true;
    try {
      rollsBack = this.#failure !== undefined || this.#isUnseen || this.#transaction.rollbackOn(status);
    } finally {
      if (rollsBack) await this.#transaction.rollback(this.#failure?.error);
    }
    if (!rollsBack) await this.#transaction.commitFor(status);
    // Express itself responds to OPTIONS where no handler does.
    else if (this.#isUnseen && status < 400 && this.req.method !== 'OPTIONS') {
      throw new HttpError('AMBIT_HTTP_FAILURES_UNSEEN', nameOf(this.req));
    }
  }

  /** Its time limit has passed before anybody responded. The handler may never respond, so the error handlers do. */
  #lose(error: TransactionError): void {
    if (error.code !== 'AMBIT_TX_TIMEOUT' || this.#transaction.timeout || this.#failure || !this.#gate.forget()) return;
    this.#transaction.timeout = error;
    this.res.setHeader('Retry-After', '1');
    this.timeOut(error);
  }
}

/** The terms of the transaction of a handler, and when its response rolls back. */
export interface WithTransactionOptions
  extends RequestTransactionOptions<ScopedRequest>, HeldResponseOptions<ScopedRequest> {}

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
  checkTransactionOptions(options);
  checkFunctions(options, 'onSecondResponse');
  const terms = termsOf(options);
  const begin: Handler = async (req, res, scope) => {
    const transaction = await beginTransaction(req, res, scope, terms(req));
    req.transactionScope = transaction.scope;
    await new HandlerResponse(req, res, transaction, options).run(handler, transaction.scope);
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
 * @param terms - the terms of the transaction, and which responses roll back
 * @returns the transaction, begun
 * @throws `HttpError` `AMBIT_HTTP_TRANSACTION_STARTED`: the request has a transaction already; `AMBIT_HTTP_HEAD_SENT`: the response has
 *   begun. `TransactionError`: no connection could be acquired, or BEGIN failed. `ContainerError`: the scope has no `IDatabasePool`
 *
 * @example
 * ```ts
 * import type { ServerResponse } from 'node:http';
 * import type { ScopedRequest } from '@ambit/http';
 * import { beginTransaction, termsOf } from '@ambit/http/host';
 *
 * const terms = termsOf<ScopedRequest>({ isolation: 'serializable' });
 * async function begin(req: ScopedRequest, res: ServerResponse): Promise<void> {
 *   const transaction = await beginTransaction(req, res, req.container, terms(req));
 *   req.transactionScope = transaction.scope; // your `HeldResponse` commits it, or rolls it back
 * }
 * ```
 */
export async function beginTransaction(
  req: ScopedRequest,
  res: ServerResponse,
  scope: IContainer,
  terms: RequestTransactionTerms,
): Promise<RequestTransaction> {
  if (req.transactionScope) throw new HttpError('AMBIT_HTTP_TRANSACTION_STARTED');
  if (res.headersSent) throw headSent(req, res);
  const transaction = new RequestTransaction(scope, terms);
  const request = ConnectedRequest.of(req, res) ?? new ConnectedRequest(req, res, OTHER_HOST);
  request.active.onDisconnect((reason) => void transaction.rollback(reason));
  await transaction.begun;
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

/** A response whose failures `createHandler()` responds to. */
class HandlerResponse extends HeldResponse {
  readonly #req: ScopedRequest;
  readonly #onSecondResponse: WithTransactionOptions['onSecondResponse'];
  readonly #released: Promise<void>;
  #release!: () => void;
  #refuse!: (error: unknown) => void;

  constructor(
    req: ScopedRequest,
    res: ServerResponse,
    transaction: RequestTransaction,
    { onSecondResponse }: WithTransactionOptions,
  ) {
    super(req, res, transaction);
    this.#req = req;
    this.#onSecondResponse = onSecondResponse;
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

/** Express changes `url` on the way into a router. */
function nameOf({ method, url, originalUrl = url }: IncomingMessage & { readonly originalUrl?: string }): string {
  return `${method} ${originalUrl}`;
}
