import type { TransactionCheckError } from './finding.js';
import type { CallStack } from './place.js';
import type { RequestUnit } from './request-unit.js';
import { Tally } from './tally.js';

/** A connection from the request for it until its release, and the transaction that is open on it. */
export class Hold {
  /** Where it was asked for. */
  readonly begun: CallStack;
  /** The request on whose behalf it was. */
  readonly request: RequestUnit | undefined;
  readonly tally = new Tally();
  /** What could not be refused: COMMIT is refused instead. */
  readonly failures: TransactionCheckError[] = [];
  /** The last statement. */
  last: CallStack;
  /** A transaction is open on it: BEGIN has succeeded, neither COMMIT nor ROLLBACK was asked for. */
  isOpen = false;
  /** It was released, or never given. */
  isOver = false;
  /** Statements in progress. */
  #running = 0;
  #quietSince = 0;

  constructor(begun: CallStack, request: RequestUnit | undefined) {
    this.request = request;
    this.begun = begun;
    this.last = begun;
  }

  open(now: number): void {
    this.isOpen = true;
    this.#quietSince = now;
  }

  close(): void {
    this.isOpen = false;
  }

  /** What was rolled back may run again, as a retry. */
  rolledBack(): void {
    this.request?.tally.subtract(this.tally);
  }

  release(): void {
    this.isOpen = false;
    this.isOver = true;
  }

  /** How long no statement has run. */
  quietFor(now: number): number {
    return this.isOpen && this.#running === 0 ? now - this.#quietSince : 0;
  }

  statementStarts(at: CallStack): void {
    this.last = at;
    this.#running += 1;
  }

  statementSettles(now: number): void {
    this.#running -= 1;
    this.#quietSince = now;
  }
}
