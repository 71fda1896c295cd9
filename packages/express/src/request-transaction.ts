import { finished } from 'node:stream/promises';
import { type Transaction, TransactionError } from '@ambit/transaction';
import type { NextFunction, Request, Response } from 'express';
import { HttpError } from './errors.js';
import { wouldSeeFailure } from './express-internals.js';
import { type FailureWatcher, watchFailures } from './failure.js';
import { Gate, type GateKeeper } from './gate.js';
import { isError, respondPlainly } from './plain-error.js';
import { report } from './report.js';

export interface Ending {
  readonly rollbackOn?: (status: number) => boolean;
  readonly onSecondAnswer?: (error: unknown, req: Request) => void;
}

interface Held {
  readonly next: (error?: unknown) => void;
  readonly error: unknown;
}

/** After a success was discarded, error handlers have this long before the client gets a plain error. */
const TIME_TO_RESPOND_MS = 1000;

/** A transaction that could not commit for a reason the handler knew, or could know, allows the answer to say so. */
const KNOWN_BEFORE: ReadonlySet<string> = new Set(['AMBIT_TX_ENDED', 'AMBIT_TX_FAILED']);

/**
 * The transaction of one request. It ends once: with the first response, with the failure of a handler before it, or at
 * its time limit.
 */
export class RequestTransaction implements FailureWatcher, GateKeeper {
  isHandlingError = false;
  isAnswered = false;
  seenIn: unknown = undefined;
  readonly #req: Request;
  readonly #res: Response;
  readonly #transaction: Transaction;
  readonly #ending: Ending;
  readonly #next: NextFunction;
  readonly #gate: Gate;
  /** Why it is rolled back, whatever the response says. */
  #failure: { readonly error: unknown; readonly isOfHandler: boolean } | undefined = undefined;
  /** The response comes from where a failure would not have been seen. */
  #isUnseen = false;
  /** The error handlers were called with it, while the handler went on. */
  #timeout: TransactionError | undefined = undefined;
  /** COMMIT is in progress. */
  #isDeciding = false;
  /** How the handlers went on meanwhile. */
  #held: Held[] | undefined = undefined;
  /** Responds where the error handlers leave it at a success. */
  #substitute: NodeJS.Timeout | undefined = undefined;

  constructor(req: Request, res: Response, transaction: Transaction, ending: Ending, next: NextFunction) {
    this.#req = req;
    this.#res = res;
    this.#transaction = transaction;
    this.#ending = ending;
    this.#next = next;
    this.#gate = new Gate(res, this);
    watchFailures(req, this);
    transaction.onLost((error) => this.#lose(error));
  }

  get isOver(): boolean {
    return this.isAnswered || this.#failure !== undefined || this.isHandlingError;
  }

  get isTooLate(): boolean {
    return this.#timeout !== undefined;
  }

  fail(error: unknown): void {
    // The handler goes on, and a success of it must still be refused.
    if (this.isTooLate) return;
    // The first response decides: what fails after it changes nothing.
    if (!this.#gate.forget() || this.#failure) return;
    this.#failure = { error, isOfHandler: true };
    void this.#transaction.rollback(error);
  }

  /** Otherwise error handlers would be over before the error of COMMIT comes. */
  hold(next: (error?: unknown) => void, error: unknown): boolean {
    if (this.#isDeciding) (this.#held ??= []).push({ next, error });
    return this.#isDeciding;
  }

  /**
   * What is rolled back is not reported as a success. Only what a handler's own failure means is for the error handlers to
   * say, and only of what responds while one is being called is it certain that it is the error handler.
   */
  admits(status: number): boolean {
    if (status >= 400) return true;
    return !this.#timeout && (!this.#failure || (this.#failure.isOfHandler && this.isHandlingError));
  }

  onDiscarded(isWhole: boolean): void {
    // It is the response of an error handler, and no other will come.
    if (this.isHandlingError) return this.#respond();
    if (isWhole) this.onSecondAnswer();
    // It may be that of the handler, and the error handler takes its time.
    if (this.#substitute) return;
    this.#substitute = setTimeout(() => this.#respond(), TIME_TO_RESPOND_MS);
    this.#res.once('close', () => clearTimeout(this.#substitute));
  }

  onFirstAnswer(): void {
    clearTimeout(this.#substitute);
    this.isAnswered = true;
    if (this.#failure || wouldSeeFailure(this.#req, this)) return;
    this.#isUnseen = true;
    this.#gate.forget();
  }

  async decide(status: number): Promise<void> {
    this.#isDeciding = true;
    try {
      await this.#end(status);
    } catch (error) {
      await readRest(this.#req);
      throw error;
    } finally {
      this.#isDeciding = false;
    }
    const held = this.#takeHeld();
    for (const { next, error } of held) next(error);
    if (!held[0]) return;
    // The last handler of Express responds when it has read the request, and that must be refused while this response waits.
    await readRest(this.#req);
    await new Promise(setImmediate);
  }

  #takeHeld(): readonly Held[] {
    const held = this.#held ?? [];
    this.#held = undefined;
    return held;
  }

  onRefused(error: unknown): void {
    // Its error handlers were called already.
    if (this.#timeout) return this.#respond();
    this.#failure ??= { error, isOfHandler: false };
    // The error handlers can be called once. With what the handler passed on meanwhile, the reporter is.
    for (const held of this.#takeHeld()) if (isError(held.error)) this.#report(held.error);
    this.#next(error);
  }

  #respond(): void {
    respondPlainly(this.#res, this.#timeout ?? this.#failure?.error);
  }

  onSecondAnswer(): void {
    const { method, originalUrl } = this.#req;
    this.#report(new HttpError('AMBIT_HTTP_SECOND_ANSWER', `${method} ${originalUrl}`));
  }

  #report(error: unknown): void {
    report(this.#ending.onSecondAnswer, error, this.#req);
  }

  async #end(status: number): Promise<void> {
    let rollsBack = true;
    try {
      rollsBack = this.#failure !== undefined || this.#isUnseen || (this.#ending.rollbackOn?.(status) ?? false);
    } finally {
      if (rollsBack) await this.#transaction.rollback(this.#failure?.error);
    }
    if (!rollsBack) await this.#commit(status);
    // Express itself responds to OPTIONS where no handler does.
    else if (this.#isUnseen && status < 400 && this.#req.method !== 'OPTIONS') {
      throw new HttpError('AMBIT_HTTP_FAILURES_UNSEEN', `${this.#req.method} ${this.#req.originalUrl}`);
    }
  }

  async #commit(status: number): Promise<void> {
    try {
      await this.#transaction.commit();
    } catch (error) {
      const isKnown = error === this.#timeout || (error instanceof TransactionError && KNOWN_BEFORE.has(error.code));
      if (status < 400 || !isKnown) throw error;
    }
  }

  /** Its time limit has passed before anybody responded. The handler may never respond, so the error handlers do. */
  #lose(error: TransactionError): void {
    if (error.code !== 'AMBIT_TX_TIMEOUT' || this.#timeout || this.#failure || !this.#gate.forget()) return;
    this.#timeout = error;
    this.#res.setHeader('Retry-After', '1');
    this.#next(error);
    // Express's own methods, such as res.render(), pass their failures to it.
    const { next } = this.#req;
    this.#req.next = (failure) => {
      if (!this.isAnswered) next?.(failure);
    };
  }
}

/**
 * Express's own error handler sees that nothing was sent, then waits until the request is read, then answers. A second
 * answer of the handler in between would end the process, so the waiting is done before it, behind the gate; for the end
 * of an upload, too, unless its client leaves.
 */
async function readRest(req: Request): Promise<void> {
  if (!req.readable) return;
  req.resume();
  await finished(req).catch(() => undefined);
}
