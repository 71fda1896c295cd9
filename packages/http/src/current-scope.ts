import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type IContainer, runInScope } from '@ambit/container';

const CURRENT = Symbol('ambit.current');

interface RequestWithCurrent {
  [CURRENT]?: CurrentScope;
}

/** The scope that is `currentScope()` for what one request causes: its own, and that of its transaction while it is open. */
export class CurrentScope {
  readonly #requestScope: IContainer;
  #scope: IContainer;

  constructor(req: IncomingMessage, res: ServerResponse, requestScope: IContainer) {
    this.#requestScope = this.#scope = requestScope;
    (req as RequestWithCurrent)[CURRENT] = this;
    this.#emitInside(req);
    this.#emitInside(res);
  }

  /** Undefined where the application did not ask for a current scope. */
  static of(req: object): CurrentScope | undefined {
    return (req as RequestWithCurrent)[CURRENT];
  }

  static run<T>(req: object, work: () => T): T {
    const current = CurrentScope.of(req);
    return current ? current.run(work) : work();
  }

  /** For error handlers: they must not get the scope of a transaction that failed. */
  static runOutside<T>(req: object, work: () => T): T {
    const current = CurrentScope.of(req);
    return current ? runInScope(current.#requestScope, work) : work();
  }

  /** From now on the scope of a transaction is the current one. */
  enter(transactionScope: IContainer): void {
    this.#scope = transactionScope;
  }

  /** From now on it is the request's own again. */
  leave(): void {
    this.#scope = this.#requestScope;
  }

  run<T>(work: () => T): T {
    return runInScope(this.#scope, work);
  }

  /** Node emits the events of a body in the context of its socket. */
  #emitInside(emitter: EventEmitter): void {
    const emit = emitter.emit.bind(emitter);
    emitter.emit = (...args: Parameters<typeof emit>) => this.run(() => emit(...args));
  }
}
