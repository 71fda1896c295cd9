import { failure } from './error-names.js';
import type { Holders } from './holders.js';
import type { ScopeEntry } from './open-scopes.js';
import type { RequestRecord } from './requests.js';
import type { Trail } from './trail.js';
import type { Now, Outcome, StepKind } from './wire.js';

/** So soon a transaction reports what the pool has reported. */
const SAME_MS = 5;
/** Of a connection that was there nobody speaks. */
const SHORTEST_WAIT_MS = 1;
/** The step with which a transaction completes. */
const FINAL_STEP: Record<Exclude<Outcome, 'refused'>, StepKind> = {
  committed: 'commit',
  'rolled back': 'rollback',
  unknown: 'commit unknown',
};

/** How many transactions are open, and how many had which outcome. */
class TransactionTally {
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

/** Records the transactions, from the wait for a connection to COMMIT or ROLLBACK. */
export class TransactionRecorder {
  readonly tally = new TransactionTally();
  readonly #trail: Trail;
  readonly #holders: Holders;
  /** The check-out before this one; a transaction that reports its own follows at once. */
  #checkedOut: { readonly pool: object; readonly request: RequestRecord | undefined; readonly at: number } | undefined;

  constructor(trail: Trail, holders: Holders) {
    this.#trail = trail;
    this.#holders = holders;
  }

  refused(parent: object, took: number, error: unknown): void {
    const entry = this.#trail.entryOf(parent);
    if (!entry) return;
    this.tally.refused(entry);
    this.#waited(entry, 'no connection', took, error);
  }

  acquired(scope: object, took: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    this.#waited(entry, 'connection', took);
    const now = this.#trail.now();
    const { pool, request, at } = this.#checkedOut ?? {};
    const isOfThis = request === entry.request && at !== undefined && now - at <= SAME_MS;
    this.#holders.acquired(scope, entry.request, now, isOfThis ? pool : undefined);
  }

  /** A pool has given a connection, or none. A transaction reports its own again. */
  checkedOut(pool: object, took: number, error?: unknown): void {
    this.#holders.uses(pool);
    this.#checkedOut = { pool, request: this.#trail.current(), at: this.#trail.now() };
    if (error !== undefined || took >= SHORTEST_WAIT_MS)
      this.#waited(undefined, error === undefined ? 'connection' : 'no connection', took, error);
  }

  #waited(entry: ScopeEntry | undefined, kind: 'connection' | 'no connection', took: number, error?: unknown): void {
    const now = this.#trail.now();
    const request = entry?.request ?? this.#trail.current();
    if (entry && request?.isReportedAgain(kind, now, took, entry.span)) return;
    const hasWaited = took >= SHORTEST_WAIT_MS || error !== undefined;
    const heldBy = hasWaited
      ? this.#holders.ofConnection(this.#checkedOut?.pool, now - took, now, error !== undefined)
      : undefined;
    this.#trail.step(entry, kind, { took, ...failure(error), ...(heldBy && { heldBy }) });
    if (error !== undefined) request?.account(error);
  }

  begun(scope: object, took: number): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    this.tally.begun(entry);
    this.#trail.step(entry, 'begin', { took });
  }

  finishing(scope: object): void {
    this.#holders.ending(scope);
  }

  finished(scope: object, outcome: Exclude<Outcome, 'refused'>, took: number, error: unknown): void {
    const entry = this.#trail.entryOf(scope);
    if (!entry) return;
    this.tally.finished(entry, outcome);
    this.#holders.ended(scope, this.#trail.now());
    const request = this.#trail.step(entry, FINAL_STEP[outcome], { took, ...failure(error) });
    if (error !== undefined) request?.account(error);
  }
}
