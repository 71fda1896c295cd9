import type { ScopeEntry } from './scope-entry.js';
import type { Now, Outcome, StepKind } from './wire.js';

/** The step with which a transaction completes. */
export const FINAL_STEP: Record<Exclude<Outcome, 'refused'>, StepKind> = {
  committed: 'commit',
  'rolled back': 'rollback',
  unknown: 'commit unknown',
};

/** How many transactions are open, and how many had which outcome. */
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
    request?.transactionFinished('refused');
  }

  begun(entry: ScopeEntry): void {
    entry.inTransaction = true;
    this.#counts.open++;
  }

  finished(entry: ScopeEntry, outcome: Outcome): void {
    this.scopeClosed(entry);
    this.#counts[outcome]++;
    entry.request?.transactionFinished(outcome);
  }

  /** No longer open, with or without a known outcome. */
  scopeClosed(entry: ScopeEntry): void {
    if (entry.inTransaction) this.#counts.open--;
    entry.inTransaction = false;
  }

  counts(): Now['transactions'] {
    return { ...this.#counts };
  }
}
