import type { ScopeEntry } from './scope-entry.js';
import type { Now, Outcome } from './wire.js';

/** How many transactions are open, and how the others ended. */
export class TransactionTally {
  readonly #counts: Record<'open' | Outcome, number> = {
    open: 0,
    committed: 0,
    refused: 0,
    'rolled back': 0,
    unknown: 0,
  };

  refused({ request }: ScopeEntry): void {
    this.#counts.refused++;
    request?.transactionEnded('refused');
  }

  begun(entry: ScopeEntry): void {
    entry.inTransaction = true;
    this.#counts.open++;
  }

  ended(entry: ScopeEntry, outcome: Outcome): void {
    this.left(entry);
    this.#counts[outcome]++;
    entry.request?.transactionEnded(outcome);
  }

  /** Its scope is gone, whatever became of it. */
  left(entry: ScopeEntry): void {
    if (entry.inTransaction) this.#counts.open--;
    entry.inTransaction = false;
  }

  counts(): Now['transactions'] {
    return { ...this.#counts };
  }
}
