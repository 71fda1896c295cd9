import { AsyncResource } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import type { FastifyReply } from 'fastify';
import type { Connection } from './connections.js';
import { HttpError } from './errors.js';
import type { FailedRequest } from './failed-request.js';
import { isInjectedWhole } from './internals.js';
import type { Load } from './load.js';
import type { RequestTransaction } from './request-transaction.js';
import type { Turns } from './turns.js';
import type { FailedStep } from './watched-promise.js';

/**
 * One request from its scope to the end of its answer.
 *
 * Invariants: the scope is disposed once, whoever asks and however often; nothing here throws or rejects, because
 * event listeners call it; the signal aborts only for a client that went without its whole answer.
 */
export class RequestLife {
  readonly reply: FastifyReply;
  readonly response: ServerResponse;
  /** The request's transaction while it has one. */
  transaction: RequestTransaction | undefined = undefined;
  /** The response must not be a success, nor keep its headers, unless the handler knows. */
  failedStep: FailedStep | undefined = undefined;
  /** The handler has responded or failed, or that was done in its place. */
  hasResponse = false;
  /** A transaction of the request was rolled back. */
  isRolledBack = false;
  /** It failed and its transaction was rolled back: whatever the handler responds now, that is no success. */
  failed: FailedRequest | undefined = undefined;
  /** The connection it is alive on, and its neighbours there. */
  connection: Connection | undefined = undefined;
  older: RequestLife | undefined = undefined;
  newer: RequestLife | undefined = undefined;
  readonly #onDisposeError: (error: unknown) => void;
  readonly #load: Load;
  #scope: IContainer | undefined = undefined;
  #isWaiting = false;
  #hasTurn = false;
  /** It counts as in progress in the application. */
  #hasEntered = false;
  #isOver = false;
  #abort: AbortController | undefined = undefined;
  #gone = false;
  #ended = false;
  #ending: Promise<void> | undefined = undefined;
  #onOver: (() => void) | undefined = undefined;

  constructor(reply: FastifyReply, load: Load, onDisposeError: (error: unknown) => void) {
    this.reply = reply;
    this.response = reply.raw;
    this.#load = load;
    this.#onDisposeError = onDisposeError;
  }

  get scope(): IContainer | undefined {
    return this.#scope;
  }

  /** Also of a request that is over already, whose client was not there for long. */
  open(scope: IContainer): void {
    this.#scope = scope;
    if (this.#ended) void this.#dispose();
  }

  /**
   * Calls `begin` once fewer requests of the connection are in progress than the limit, unless it closes before. It is
   * given false where the application has too many requests.
   */
  inTurn(begin: (isTaken: boolean) => void): void {
    const turns = this.connection?.turns;
    const load = this.#load;
    const { req } = this.response;
    const enter = (): void => {
      if (!this.#isOver) this.#hasEntered = load.enter(req);
      begin(this.#hasEntered || this.#isOver);
    };
    if (this.#isOver || !turns) return enter();
    // In the asynchronous context of this request, and not of the one that makes way for it.
    const whenFree = (): void => {
      this.#endWait();
      this.#hasTurn = true;
      if (this.#isOver) this.#passTurn(turns);
      else enter();
    };
    if (turns.take(load.maxPerConnection)) return whenFree();
    if (!load.wait(req)) return begin(false);
    this.#isWaiting = true;
    turns.wait(load, AsyncResource.bind(whenFree));
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Made when somebody first asks. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#gone) this.#abort.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    }
    return this.#abort.signal;
  }

  /** The answer is out, or it never will be. */
  over(): void {
    const turns = this.connection?.turns;
    this.connection?.remove(this);
    // Of an HTTP/2 stream that was cut off, only the first of the two knows.
    const answered = (this.response.writableEnded && this.response.writableFinished) || isInjectedWhole(this.response);
    if (!answered && !this.#gone) {
      this.#gone = true;
      this.#abort?.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    }
    // After `hijack()` no hook has seen the response. Not `writableFinished`, see below.
    if (this.response.writableEnded && this.failedStep?.isKnown() === false) this.failedStep.log();
    void this.end();
    this.#endWait();
    if (this.#hasEntered) this.#load.leave();
    this.#hasEntered = false;
    this.#isOver = true;
    this.#onOver?.();
    this.#passTurn(turns);
  }

  whenOver(): Promise<void> {
    return new Promise((resolve) => (this.#onOver = resolve));
  }

  /** Ends the scope; gives a promise when there may be something to wait for. Whoever is to hear how it went has heard. */
  end(reason?: unknown): Promise<void> | undefined {
    if (!this.#ended) {
      this.#ended = true;
      this.#ending = this.transaction ? this.#endBoth(this.transaction, reason) : this.#dispose();
    }
    return this.#ending;
  }

  /** Not every container ends the children of a scope with it, so the transaction does not rely on that. */
  async #endBoth(transaction: RequestTransaction, reason: unknown): Promise<void> {
    // Not `writableFinished`: whether the client stayed for all of the answer makes no difference to the mistake.
    this.isRolledBack = !transaction.committed;
    if (this.response.writableEnded) await transaction.leftOpen();
    else await transaction.rollback(reason ?? (this.#gone ? new HttpError('AMBIT_HTTP_CLIENT_GONE') : undefined));
    this.transaction = undefined;
    await Promise.allSettled([this.#dispose()]);
  }

  #endWait(): void {
    if (this.#isWaiting) this.#load.endWait();
    this.#isWaiting = false;
  }

  #passTurn(turns: Turns | undefined): void {
    if (!this.#hasTurn) return;
    this.#hasTurn = false;
    turns?.done();
  }

  #dispose(): Promise<void> | undefined {
    try {
      const disposing = this.#scope?.dispose() ?? undefined;
      disposing?.then(undefined, this.#onDisposeError);
      return disposing;
    } catch (error) {
      this.#onDisposeError(error);
      return undefined;
    }
  }
}
