import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type IContainer, runInScope } from '@ambit/container';

const CURRENT = Symbol('ambit.current');

interface RequestWithCurrent {
  [CURRENT]?: CurrentScope;
}

/**
 * The scope that is `currentScope()` for what one request causes: its own, and that of its transaction while it is open.
 *
 * @example
 * ```ts
 * import type { IncomingMessage } from 'node:http';
 * import { CurrentScope } from '@ambit/http/host';
 *
 * const callHandler = (req: IncomingMessage, handler: () => unknown) => CurrentScope.run(req, handler);
 * const callErrorHandler = (req: IncomingMessage, handler: () => unknown) => CurrentScope.runOutside(req, handler);
 * ```
 */
export class CurrentScope {
  readonly #requestScope: IContainer;
  #scope: IContainer;

  /**
   * Makes the request scope the current one, also for the events of the request and the response.
   *
   * @param req - the request
   * @param res - its response
   * @param requestScope - the scope of the request
   */
  constructor(req: IncomingMessage, res: ServerResponse, requestScope: IContainer) {
    this.#requestScope = this.#scope = requestScope;
    (req as RequestWithCurrent)[CURRENT] = this;
    this.#emitInside(req);
    this.#emitInside(res);
  }

  /**
   * Finds that of a request.
   *
   * @param req - the request
   * @returns undefined where the application did not ask for a current scope
   */
  static of(req: object): CurrentScope | undefined {
    return (req as RequestWithCurrent)[CURRENT];
  }

  /**
   * Calls the function with the current scope of the request; without one, as it is.
   *
   * @param req - the request
   * @param work - the function
   * @returns what the function returns
   */
  static run<T>(req: object, work: () => T): T {
    const current = CurrentScope.of(req);
    return current ? current.run(work) : work();
  }

  /**
   * Calls the function with the request's own scope: error handlers must not get the scope of a transaction that failed.
   *
   * @param req - the request
   * @param work - the function
   * @returns what the function returns
   */
  static runOutside<T>(req: object, work: () => T): T {
    const current = CurrentScope.of(req);
    return current ? runInScope(current.#requestScope, work) : work();
  }

  /**
   * Makes the scope of a transaction the current one from now on.
   *
   * @param transactionScope - the scope of the transaction
   */
  enter(transactionScope: IContainer): void {
    this.#scope = transactionScope;
  }

  /** Makes the request's own scope the current one again. */
  leave(): void {
    this.#scope = this.#requestScope;
  }

  /**
   * Calls the function with the scope that is current now.
   *
   * @param work - the function
   * @returns what the function returns
   */
  run<T>(work: () => T): T {
    return runInScope(this.#scope, work);
  }

  /** Node emits the events of a body in the context of its socket. */
  #emitInside(emitter: EventEmitter): void {
    const emit = emitter.emit.bind(emitter);
    emitter.emit = (...args: Parameters<typeof emit>) => this.run(() => emit(...args));
  }
}
