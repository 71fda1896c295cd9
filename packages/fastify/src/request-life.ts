import type { ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import type { Connection } from './connections.js';
import { HttpError } from './errors.js';
import type { RequestTransaction } from './request-transaction.js';

/**
 * One request from its scope to the end of its answer.
 *
 * Invariants: the scope is disposed once, whoever asks and however often; nothing here throws or rejects, because
 * event listeners call it; the signal aborts only for a client that went without its whole answer.
 */
export class RequestLife {
  readonly scope: IContainer;
  readonly response: ServerResponse;
  /** The request's transaction while it has one. */
  transaction: RequestTransaction | undefined = undefined;
  /** What was said of an answer so far was said in the hope of a commit, and holds for no error. */
  commitFailed = false;
  /** The connection it is alive on, and its neighbours there. */
  connection: Connection | undefined = undefined;
  older: RequestLife | undefined = undefined;
  newer: RequestLife | undefined = undefined;
  readonly #onDisposeError: (error: unknown) => void;
  #abort: AbortController | undefined = undefined;
  #gone = false;
  #ended = false;
  #ending: Promise<void> | undefined = undefined;
  #onOver: (() => void) | undefined = undefined;

  constructor(scope: IContainer, response: ServerResponse, onDisposeError: (error: unknown) => void) {
    this.scope = scope;
    this.response = response;
    this.#onDisposeError = onDisposeError;
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
    this.connection?.remove(this);
    // Of an HTTP/2 stream that was cut off, only the first of the two knows.
    const answered = this.response.writableEnded && this.response.writableFinished;
    if (!answered && !this.#gone) {
      this.#gone = true;
      this.#abort?.abort(new HttpError('AMBIT_HTTP_CLIENT_GONE'));
    }
    void this.end();
    this.#onOver?.();
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
    if (this.response.writableEnded) await transaction.leftOpen();
    else await transaction.rollback(reason ?? (this.#gone ? new HttpError('AMBIT_HTTP_CLIENT_GONE') : undefined));
    this.transaction = undefined;
    await Promise.allSettled([this.#dispose()]);
  }

  #dispose(): Promise<void> | undefined {
    try {
      const disposing = this.scope.dispose() ?? undefined;
      disposing?.then(undefined, this.#onDisposeError);
      return disposing;
    } catch (error) {
      this.#onDisposeError(error);
      return undefined;
    }
  }
}
