import type { IConnection } from '../core/contract.js';
import type { TransactionOptions } from '../core/options.js';
import { AroundCommit } from './around-commit.js';
import { runJoined } from './joined-run.js';
import type { TransactionState } from './outcome.js';
import { runInSavepoint, Savepoint } from './savepoint.js';
import type { ScopedConnection } from './scoped-connection.js';

/** How work runs inside of a transaction. Other copies of this package call it, so that one copy knows all nested runs. */
export abstract class RunsInside extends AroundCommit {
  abstract readonly state: TransactionState;
  abstract readonly connection: IConnection;
  /** @internal */
  protected abstract readonly scoped: ScopedConnection;

  /** @internal A nested run in a savepoint. */
  runNested<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    return runInSavepoint(this, work, options);
  }

  /** @internal A nested run in separate calls, for the drivers of ORMs. */
  createSavepoint(parent?: Savepoint): Savepoint {
    return new Savepoint(this, parent);
  }

  /** @internal A run that cannot fail alone. */
  async runJoined<T>(work: () => Promise<T>, options: TransactionOptions): Promise<T> {
    if (this.completion.isRequested) throw this.completion.refusal();
    return runJoined(this.scoped, work, this.settings, options);
  }

  /** @internal From now on it can only roll back, also after a `ROLLBACK TO`. */
  markRollbackOnly(error: unknown): void {
    this.scoped.markRollbackOnly(error);
  }
}
