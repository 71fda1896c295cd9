import type { IContainer } from '@ambit/container';
import { TransactionError } from '@ambit/transaction';
import { isObservable, type Observable, type Observer, tap } from 'rxjs';

/** The key under which the scope of a transaction keeps the call of its handler. */
const CALL = Symbol.for('@ambit/nest/handler-call');

interface OfCall {
  [CALL]?: HandlerCall;
}

interface HandlerTransaction {
  readonly scope: IContainer;
  /** Calls the handler as a part of the transaction. */
  readonly join?: (work: () => Promise<unknown>) => Promise<unknown>;
  /** The handler has failed, or an interceptor did not wait for it. */
  readonly onFailed?: (error: unknown) => void;
}

/**
 * A decorated handler in the transaction that was begun for it. The interceptors between it and the response may catch what it throws, call
 * it again, or respond before it has finished: what they respond is sent, but only what a handler has finished is stored.
 */
export class HandlerCall {
  /** Why nothing of it is stored, whatever the interceptors respond. */
  failure: { readonly error: unknown } | undefined = undefined;
  readonly #handler: object;
  readonly #transaction: HandlerTransaction;
  #isRunning = false;
  #refuseAgain: ((error: unknown) => void) | undefined = undefined;

  constructor(handler: object, transaction: HandlerTransaction) {
    this.#handler = handler;
    this.#transaction = transaction;
    (transaction.scope as OfCall)[CALL] = this;
  }

  /** The call of this handler, where the transaction of the scope was begun for it. */
  static in(scope: IContainer, handler: object): HandlerCall | undefined {
    const { [CALL]: call } = scope as OfCall;
    return call && call.#handler === handler ? call : undefined;
  }

  /** The handler has not finished. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Passes on what the interceptors around the handler emit. Fails where they call it again after it has failed. */
  through(interceptors: Observable<unknown>, receiver: Observer<unknown>): void {
    this.#refuseAgain = (error) => receiver.error(error);
    interceptors.subscribe({
      next: (value) => receiver.next(value),
      error: this.#refuseAgain,
      complete: () => {
        if (this.#isRunning) this.#fail(new Error('An interceptor has responded before the handler had finished'));
        receiver.complete();
      },
    });
  }

  run(handle: () => unknown): unknown {
    if (this.failure) return this.#refuse(this.failure.error);
    const { join } = this.#transaction;
    this.#isRunning = true;
    try {
      const result = join ? join(async () => handle()) : handle();
      if (!isPromiseLike(result)) return this.#settle(result);
      return Promise.resolve(result).then(
        (value) => this.#settle(value),
        (error: unknown) => {
          this.#fail(error);
          throw error;
        },
      );
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #settle(result: unknown): unknown {
    const finish = (): void => void (this.#isRunning = false);
    if (isObservable(result))
      return result.pipe(tap({ next: finish, complete: finish, error: (error) => this.#fail(error) }));
    finish();
    return result;
  }

  #fail(error: unknown): void {
    this.#isRunning = false;
    if (this.failure) return;
    this.failure = { error };
    this.#transaction.onFailed?.(error);
  }

  /** Never settles: `retry()` without a count would call the handler again without end. */
  #refuse(cause: unknown): Promise<never> {
    const { name } = this.#handler as { readonly name: string };
    const what = `An interceptor, such as retry(), called ${name}() again, whose failure has rolled the transaction back. To try again, put @Transactional({ retries: 3 }) on a method of a provider, and none on the handler`;
    this.#refuseAgain?.(new TransactionError('AMBIT_TX_FINISHED', what, { cause }));
    return new Promise(() => undefined);
  }
}

/** Query builders have promises of their own, which Nest awaits, too. */
function isPromiseLike(result: unknown): result is PromiseLike<unknown> {
  return typeof (result as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}
