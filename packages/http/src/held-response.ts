import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { IContainer } from '@ambit/container';
import {
  type ActiveRequest,
  HttpError,
  isAfterDisconnect,
  isDisconnect,
  RequestTransaction,
  type RequestTransactionOptions,
  type PreparedTransactionOptions,
} from './request/index.js';
import type { TransactionError } from '@ambit/transaction';
import { ConnectedRequest } from './connection.js';
import type { ScopedRequest } from './handler.js';
import type { RequestHost } from './request-host.js';
import { closeUnlessEnded, readRest, respondPlainly, ResponseGate, TIME_TO_RESPOND_MS } from './response-gate.js';

/** Options of all hosts that hold the response back until COMMIT. */
export interface HeldResponseOptions<Request = IncomingMessage> extends Pick<
  RequestTransactionOptions<never>,
  'rollbackOn'
> {
  /**
   * Called with a response that was dropped, because another one came first or because it reports success for what was rolled
   * back (with the failure as its cause), and with a failure after the response when COMMIT failed as well. Default: `console.error`.
   */
  readonly onSecondResponse?: (error: unknown, req: Request) => void;
}

/** The place of a host's error handlers. */
export interface ErrorHandlers {
  /** Passes an error to the error handlers, in place of the response. */
  readonly handle: (error: unknown) => void;
  /** Reports what no response can carry. */
  readonly report: (error: unknown) => void;
  /** Calls the error handlers at the time limit, while the handler goes on. Default: as `handle()` */
  readonly timeOut?: (error: TransactionError) => void;
  /** True if the host would have been notified of a failure of what responds now. Default: it would */
  readonly wouldSeeFailure?: () => boolean;
  /** True once all handlers have finished, so that only an error handler can respond. Default: one may still be running */
  readonly isHandlerDone?: () => boolean;
  /** True if a handler that goes on with this has failed. Default: it has */
  readonly isError?: (given: unknown) => boolean;
  /** The response may leave. */
  readonly onReleased?: () => void;
}

/**
 * The response of one request, which is held back until its transaction has committed. That commits or rolls back once: with
 * the first response, with the failure of a handler before it, or at its time limit. A host says where its error handlers are.
 *
 * @example
 * ```ts
 * import type { IncomingMessage, ServerResponse } from 'node:http';
 * import { report, type RequestTransaction } from '@ambit/http/host';
 * import { HeldResponse } from '@ambit/http/node';
 *
 * type Next = (error?: unknown) => void;
 * function hold(req: IncomingMessage, res: ServerResponse, transaction: RequestTransaction, next: Next): void {
 *   const held = new HeldResponse(req, res, transaction, {
 *     handle: next,
 *     report: (error) => report(undefined, error, req),
 *   });
 *   held.run(next);
 * }
 * ```
 */
export class HeldResponse {
  /** Set by the host while it calls an error handler. */
  isHandlingError = false;
  /** The first response has come, though it may still wait for COMMIT. */
  hasResponse = false;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #transaction: RequestTransaction;
  readonly #handlers: ErrorHandlers;
  readonly #active: ActiveRequest | undefined;
  readonly #gate: ResponseGate;
  /** Why it is rolled back, whatever the response says; and whether a handler may go on, and respond as if nothing had failed. */
  #failure: { readonly error: unknown; readonly mayGoOn: boolean } | undefined = undefined;
  /** The response comes from where a failure would not have been seen. */
  #isUnseen = false;
  /** COMMIT is in progress. */
  #isDeciding = false;
  /** The state of the handlers meanwhile. */
  readonly #held: { readonly next: (error?: unknown) => void; readonly error: unknown }[] = [];
  /** Responds where the error handlers leave it at a success. */
  #substitute: NodeJS.Timeout | undefined = undefined;

  /**
   * Holds the response back from now on.
   *
   * @param req - the request
   * @param res - its response, of which nothing was sent
   * @param transaction - the transaction, begun by {@link beginTransaction}
   * @param handlers - where the error handlers of the host are
   */
  constructor(req: IncomingMessage, res: ServerResponse, transaction: RequestTransaction, handlers: ErrorHandlers) {
    this.#req = req;
    this.#res = res;
    this.#transaction = transaction;
    this.#handlers = handlers;
    this.#active = transaction.active;
    this.#gate = new ResponseGate(res, this);
    transaction.current?.onLost((error) => this.#lose(error));
    if (this.#active) this.#active.currentScope = transaction.scope;
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
    return this.#failure?.mayGoOn === true && !this.isOfDisconnect(this.#failure.error);
  }

  /**
   * Tells if this failed only because the client has left: the host passes it to no error handler.
   *
   * @param error - what the handler failed with, or COMMIT
   * @returns whether there is nobody to respond to, and nothing to report
   */
  isOfDisconnect(error: unknown): boolean {
    return isDisconnect(this.#transaction.current?.error) && isAfterDisconnect(error);
  }

  /**
   * Calls a handler, with the scope of the transaction as the current one until the response has come.
   *
   * @param handler - the handler
   * @returns what it returns
   */
  run<T>(handler: () => T): T {
    return this.#active ? this.#active.run(handler) : handler();
  }

  /**
   * Calls an error handler, with the request's own scope as the current one: it must not get that of a transaction which failed.
   *
   * @param handler - the error handler
   * @returns what it returns
   */
  runErrorHandler<T>(handler: () => T): T {
    const before = this.isHandlingError;
    this.isHandlingError = true;
    try {
      return this.#active ? this.#active.run(handler, this.#active.scope) : handler();
    } finally {
      this.isHandlingError = before;
    }
  }

  /**
   * Rolls back. Called by the host when a handler failed; after the first response it changes nothing.
   *
   * @param error - what the handler threw, or passed to `next`
   */
  fail(error: unknown): void {
    // A handler that goes on too late must still be refused its success; after the first response, a failure changes nothing.
    if (this.isTooLate || !this.#gate.forget() || this.#failure) return;
    this.#failure = { error, mayGoOn: false };
    this.#leaveScope();
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
    if (!this.isTooLate && this.isError(error) && code !== 'ERR_STREAM_PREMATURE_CLOSE') this.#handlers.report(error);
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
   * Decides whether a response of this status may go out: only an error handler may report success after a rollback. The error handler is the
   * sender for certain only while it is being called and every other handler has finished.
   *
   * @param status - the status of the response
   * @returns false if the response must be discarded
   */
  admits(status: number): boolean {
    if (status >= 400) return true;
    return !this.#transaction.timeout && (!this.#failure || (!this.#failure.mayGoOn && this.isHandlingError));
  }

  /**
   * A response was discarded: if no error handler responds within a second, the client gets a plain error.
   *
   * @param isWhole - it was discarded with its end; otherwise the rest of it may follow
   */
  onDiscarded(isWhole: boolean): void {
    // Nobody waits for a response.
    if (this.isOfDisconnect(this.#failure?.error)) return;
    // This is the response of an error handler, and no other will come.
    if (this.isHandlingError) return this.#respond();
    if (isWhole) this.#reportDropped();
    // It may be that of the handler, and the error handler takes its time.
    if (this.#substitute) return;
    this.#substitute = setTimeout(() => this.#respond(), TIME_TO_RESPOND_MS);
    this.#res.once('close', () => clearTimeout(this.#substitute));
  }

  /**
   * Commits or rolls back, as the first response and the failures before it say: what a handler does from now on is no part of the transaction.
   *
   * @param status - the status of the response
   * @throws what the response is replaced by: `HttpError` `AMBIT_HTTP_FAILURES_UNSEEN`: a failure of the handler could not be seen; the
   *   `TransactionError` of a COMMIT that failed; what `rollbackOn` throws
   */
  async decide(status: number): Promise<void> {
    clearTimeout(this.#substitute);
    this.hasResponse = true;
    this.#leaveScope();
    this.#isUnseen = !this.#failure && this.#handlers.wouldSeeFailure?.() === false;
    this.#isDeciding = true;
    try {
      await this.#close(status);
    } catch (error) {
      await readRest(this.#req);
      throw error;
    } finally {
      this.#isDeciding = false;
    }
    if (this.#held.length > 0) {
      for (const { next, error } of this.#held.splice(0)) next(error);
      // The last handler of Express responds when it has read the request, and that must be refused while this response waits.
      await readRest(this.#req);
      await new Promise(setImmediate);
    }
    this.#handlers.onReleased?.();
  }

  /**
   * The response must not go out: calls the error handlers.
   *
   * @param error - what `decide()` rejected with
   */
  onRefused(error: unknown): void {
    // Its error handlers were called already.
    if (this.#transaction.timeout) return this.#respond();
    this.#failure ??= { error, mayGoOn: this.#handlers.isHandlerDone?.() !== true };
    const held = this.#held.splice(0);
    // Nobody waits for a response, but what else the handler failed with is for its error handlers.
    if (held[0] && this.isOfDisconnect(error)) return held[0].next(held[0].error);
    // The error handlers can be called once. With what the handler passed on meanwhile, the reporter is.
    for (const call of held) if (this.isError(call.error)) this.#handlers.report(call.error);
    this.#handlers.handle(error);
  }

  /** A second response was dropped: reports `AMBIT_HTTP_RESPONSE_DROPPED`. */
  onSecondResponse(): void {
    const why = 'another one came first; send one response per request';
    this.#handlers.report(new HttpError('AMBIT_HTTP_RESPONSE_DROPPED', `${nameOf(this.#req)}: ${why}`));
  }

  /**
   * Asks the host whether a handler that goes on has failed.
   *
   * @param given - what the handler passed to `next`
   * @returns whether that means a failure
   */
  isError(given: unknown): boolean {
    return this.#handlers.isError?.(given) ?? true;
  }

  #leaveScope(): void {
    if (this.#active) this.#active.currentScope = this.#active.scope;
  }

  /** With what has failed, which may not have reached its error handler yet. */
  #reportDropped(): void {
    const cause = this.#transaction.timeout ?? this.#failure?.error;
    const why = 'it reports success though the transaction was rolled back, and the cause says why';
    this.#handlers.report(new HttpError('AMBIT_HTTP_RESPONSE_DROPPED', `${nameOf(this.#req)}: ${why}`, { cause }));
  }

  #respond(): void {
    // An error handler may have written a head, and no more.
    this.#gate.forget();
    respondPlainly(this.#res, this.#transaction.timeout ?? this.#failure?.error);
  }

  #close(status: number): Promise<void> {
    try {
      if (!this.#failure && !this.#isUnseen && !this.#transaction.rollbackOn(status))
        return this.#transaction.commitFor(status);
    } catch (error) {
      return this.#undo(status, { error });
    }
    return this.#undo(status);
  }

  async #undo(status: number, thrown?: { readonly error: unknown }): Promise<void> {
    await this.#transaction.rollbackFor(status, this.#failure?.error);
    if (thrown) throw thrown.error;
    // Express itself responds to OPTIONS where no handler does.
    if (this.#isUnseen && status < 400 && this.#req.method !== 'OPTIONS')
      throw new HttpError('AMBIT_HTTP_FAILURES_UNSEEN', nameOf(this.#req));
  }

  /** Its time limit has passed before anybody responded. The handler may never respond, so the error handlers do. */
  #lose(error: TransactionError): void {
    if (error.code !== 'AMBIT_TX_TIMEOUT' || this.#transaction.timeout || this.#failure || !this.#gate.forget()) return;
    this.#transaction.timeout = error;
    this.#res.setHeader('Retry-After', '1');
    if (this.#handlers.timeOut) this.#handlers.timeOut(error);
    else this.#handlers.handle(error);
  }
}

/**
 * Begins a transaction that is rolled back when the client leaves, for a host that holds the response back until COMMIT.
 *
 * @param req - the request
 * @param res - its response, of which nothing was sent
 * @param scope - the request scope
 * @param prepared - its options, and which responses roll back
 * @param host - for a request whose scope was opened by other means: `RequestHost.withoutScopes()`
 * @returns the transaction, begun
 * @throws `HttpError` `AMBIT_TX_ALREADY_OPEN`: the request has a transaction already; `AMBIT_HTTP_HEAD_SENT`: the response has
 *   begun. `TransactionError`: no connection could be acquired, or BEGIN failed. `ContainerError`: the scope has no `IDatabasePool`
 */
export function beginTransaction(
  req: ScopedRequest,
  res: ServerResponse,
  scope: IContainer,
  prepared: PreparedTransactionOptions,
  host: RequestHost,
): Promise<RequestTransaction> {
  if (req.transactionScope) return Promise.reject(new HttpError('AMBIT_TX_ALREADY_OPEN'));
  if (res.headersSent) return Promise.reject(headSent(req, res));
  const transaction = new RequestTransaction(scope, prepared, undefined, isBodyToCome(req));
  const request = ConnectedRequest.ofResponse(req, res) ?? new ConnectedRequest(req, res, host);
  request.onDisconnect((reason) => void transaction.rollback(reason));
  const refuse = (): never => {
    throw headSent(req, res);
  };
  // A head that was sent cannot be held back until COMMIT, nor be replaced by an error.
  return transaction.begun.then(() => (res.headersSent ? transaction.rollback().then(refuse) : transaction));
}

/**
 * Says whether a part of the body is still to come.
 *
 * @param req - the request
 * @returns true while its client may take its time
 */
export function isBodyToCome(req: IncomingMessage): boolean {
  // Undefined where the request was injected, with its body.
  if (req.complete || !('complete' in req)) return false;
  if (req.httpVersionMajor > 1 && 'stream' in req)
    return !(req as unknown as Http2ServerRequest).stream.endAfterHeaders;
  return req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
}

function headSent(req: ScopedRequest, res: ServerResponse): HttpError {
  closeUnlessEnded(res);
  return new HttpError('AMBIT_HTTP_HEAD_SENT', nameOf(req));
}

/** Express changes `url` on the way into a router. */
function nameOf({ method, url, originalUrl = url }: IncomingMessage & { readonly originalUrl?: string }): string {
  return `${method} ${originalUrl}`;
}
