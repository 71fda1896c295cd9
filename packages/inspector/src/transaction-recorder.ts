import { failure } from './names.js';
import type { Trail } from './trail.js';
import { FINAL_STEP, TransactionTally } from './transaction-tally.js';
import type { Outcome } from './wire.js';

/** Records the transactions, from the wait for a connection to COMMIT or ROLLBACK. */
export class TransactionRecorder {
  readonly tally = new TransactionTally();
  readonly #trail: Trail;

  constructor(trail: Trail) {
    this.#trail = trail;
  }

  refused(parent: object, took: number, error: unknown): void {
    const entry = this.#trail.entryOf(parent);
    if (!entry) return;
    this.tally.refused(entry);
    this.#trail.step(entry, 'no connection', { took, ...failure(error) });
  }

  acquired(scope: object, took: number): void {
    const entry = this.#trail.entryOf(scope);
    if (entry) this.#trail.step(entry, 'connection', { took });
  }

  begun(scope: object, took: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    this.tally.begun(entry);
    this.#trail.step(entry, 'begin', { took });
  }

  finished(scope: object, outcome: Exclude<Outcome, 'refused'>, took: number, error: unknown): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    this.tally.finished(entry, outcome);
    this.#trail.step(entry, FINAL_STEP[outcome], { took, ...failure(error) });
  }
}
