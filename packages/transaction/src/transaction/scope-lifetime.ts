import type { IContainer } from '@ambit/container';
import { type Failure, settleWithin } from '../core/clock.js';
import { TransactionError } from '../core/errors.js';
import type { Settings } from '../core/options.js';
import { report } from '../core/report.js';
import { beforeDispose } from './foreign-scope.js';

/** The scope of a transaction: disposed once, by the transaction or by somebody else, who then waits for the rollback. */
export class ScopeLifetime {
  readonly #parent: IContainer;
  readonly #scope: IContainer;
  readonly #rollback: (reason: Error) => Promise<void>;
  /** Somebody disposes the scope already: to wait for its disposal from within would be to wait for ourselves. */
  #isDisposed = false;
  #forgetParent: (() => void) | undefined = undefined;

  constructor(parent: IContainer, scope: IContainer, rollback: (reason: Error) => Promise<void>) {
    this.#parent = parent;
    this.#scope = scope;
    this.#rollback = rollback;
  }

  /** Rolls the transaction back when somebody else disposes the scope. */
  watch(): void {
    const onDispose = (): Promise<void> | undefined => {
      if (this.#isDisposed) return undefined;
      this.#isDisposed = true;
      return this.#rollBack();
    };
    if (this.#scope.defer) return void this.#scope.defer(onDispose);
    beforeDispose(this.#scope, onDispose);
    // A foreign scope may dispose its children before ROLLBACK, and past our hook.
    this.#forgetParent = beforeDispose(this.#parent, () => this.#rollBack());
  }

  /** Disposes the scope with the reason of a rollback. Calls `onDisposed` once: when the scope is disposed, or at once where somebody else disposes it. */
  dispose(settings: Settings, reason: unknown, onDisposed: () => void): void {
    if (this.#isDisposed) return onDisposed();
    this.#isDisposed = true;
    const settle = (failure?: Failure): void => {
      if (failure) report(settings, disposalFailed(failure.error));
      onDisposed();
    };
    try {
      const disposing = this.#scope.dispose(reason);
      const { clock, endTimeoutMs } = settings;
      if (disposing) settleWithin(clock, endTimeoutMs, disposing, () => new Error('it took too long'), settle);
      else settle();
    } catch (error) {
      settle({ error });
    }
  }

  /** The transaction has completed. */
  forget(): void {
    this.#forgetParent?.();
  }

  #rollBack(): Promise<void> {
    return this.#rollback(new Error('The scope of the transaction was disposed'));
  }
}

function disposalFailed(cause: unknown): TransactionError {
  return new TransactionError('AMBIT_TX_SCOPE_FAILED', 'dispose() of the transaction scope failed', { cause });
}
