import { AsyncLocalStorage } from 'node:async_hooks';
import { type Channel, channel } from 'node:diagnostics_channel';
import type { Hold } from './hold.js';
import type { RequestUnit } from './request-unit.js';
import { uncheckedContext } from './unchecked.js';

/** What is known in an asynchronous context. */
export interface Frame {
  readonly request?: RequestUnit | undefined;
  readonly isUnchecked?: boolean | undefined;
  readonly hold?: Hold | undefined;
  /** What was known where this context was made. */
  readonly outer?: Frame | undefined;
}

const transactionContext = channel('ambit:transaction:context');

/**
 * Which request and which connections the running code belongs to. A connection belongs to the asynchronous context of its
 * request: to the code that follows there, and to what that calls.
 */
export class Contexts {
  readonly #storage = new AsyncLocalStorage<Frame>();
  readonly #bound: Channel[] = [];
  #isStopped = false;

  constructor() {
    // A frame of its own: a context that is entered below it does not reach the caller of what is below.
    this.bind(transactionContext, () => ({ ...this.current }));
    this.bind(uncheckedContext, () => ({ ...this.current, isUnchecked: true }));
  }

  get current(): Frame | undefined {
    return this.#storage.getStore();
  }

  get isUnchecked(): boolean {
    return this.#isStopped || this.current?.isUnchecked === true;
  }

  /** The connection of the innermost open transaction. */
  get openHold(): Hold | undefined {
    for (let at = this.current; at; at = at.outer) if (at.hold?.isOpen) return at.hold;
    return undefined;
  }

  isIn(hold: Hold): boolean {
    for (let at = this.current; at; at = at.outer) if (at.hold === hold) return true;
    return false;
  }

  /** From here on, in this context, the code holds the connection. */
  enter(hold: Hold): void {
    // It would enable the storage again.
    if (this.#isStopped) return;
    const { request, isUnchecked } = this.current ?? {};
    this.#storage.enterWith({ request, isUnchecked, hold, outer: this.#outer() });
  }

  /** From here on the code belongs to this request, and to nothing that came before it on the connection. */
  enterRequest(request: RequestUnit): void {
    this.#storage.enterWith({ request });
  }

  /** Code that runs the stores of the channel runs its function in this frame. */
  bind<T>(to: Channel, frame: (message: T) => Frame): void {
    to.bindStore(this.#storage, frame as (message: unknown) => Frame);
    this.#bound.push(to);
  }

  stop(): void {
    this.#isStopped = true;
    for (const bound of this.#bound.splice(0)) bound.unbindStore(this.#storage);
    this.#storage.disable();
  }

  /** Without what is over: a loop over a thousand transactions keeps one. */
  #outer(): Frame | undefined {
    let at = this.current;
    while (at && (!at.hold || at.hold.isOver)) at = at.outer;
    return at;
  }
}
