import type { IContainer } from '@ambit/container';
import { type IConnection, runInTransaction, type Transaction } from '@ambit/transaction';
import type { Visit } from './visit.js';

const KINDS = ['beforeCommit', 'beforeResponse', 'afterCommit', 'afterRollback', 'afterEnd'] as const;

/** A callback that a handler has registered, and the outcomes that it was called for. */
interface Registered {
  readonly kind: (typeof KINDS)[number];
  readonly transaction: Transaction;
  readonly calls: string[];
  /** The nested run around it has failed. */
  isUndone: boolean;
}

/** The callbacks of one request: some are slow, some fail, some belong to a nested run that is undone. */
export class RequestCallbacks {
  readonly #visit: Visit;
  readonly #all: Registered[] = [];

  constructor(visit: Visit) {
    this.#visit = visit;
  }

  register(transaction: Transaction): readonly Registered[] {
    const { chance } = this.#visit.run;
    const registered: Registered[] = [];
    for (let count = chance.below(4); count > 0; count -= 1) {
      const one: Registered = { kind: chance.pick(KINDS), transaction, calls: [], isUndone: false };
      try {
        this.#register(one);
        registered.push(one);
      } catch {
        // The transaction was rolled back from outside.
      }
    }
    this.#all.push(...registered);
    return registered;
  }

  /** A part that may fail alone, with callbacks of its own. */
  async nest(transaction: Transaction, scope: IContainer, connection: IConnection): Promise<void> {
    const { chance } = this.#visit.run;
    const isUndone = chance.of(0.5);
    let registered: readonly Registered[] = [];
    const nested = runInTransaction(scope, async () => {
      registered = this.register(transaction);
      await connection.query(isUndone ? 'undone' : 'nested');
      if (isUndone) throw new Error('the nested part failed');
    });
    await nested.catch(() => {
      for (const one of registered) one.isUndone = true;
    });
  }

  /** Called when all is over. */
  check(): void {
    for (const { kind, transaction, isUndone, calls } of this.#all) {
      const outcome = isUndone ? 'rolled back' : transaction.state;
      const end = kind === 'afterRollback' ? 'rolled back' : 'committed';
      const isCalled = kind === 'afterEnd' || outcome === end;
      const isRight =
        kind === 'beforeCommit'
          ? calls.length === 1 || (calls.length === 0 && outcome !== 'committed')
          : calls.join() === (isCalled ? outcome : '');
      if (!isRight) this.#visit.broke(`${kind}, ${outcome}, was called: ${calls.join() || 'never'}`);
    }
  }

  #register(one: Registered): void {
    const { kind, transaction } = one;
    if (kind === 'beforeCommit') transaction.beforeCommit(() => this.#call(one, 'before'));
    else if (kind === 'beforeResponse')
      transaction.afterCommit(() => this.#call(one, 'committed'), { before: 'response' });
    else if (kind === 'afterCommit') transaction.afterCommit(() => this.#call(one, 'committed'));
    else if (kind === 'afterRollback') transaction.afterRollback(() => this.#call(one, 'rolled back'));
    else transaction.afterEnd((outcome) => this.#call(one, outcome));
  }

  async #call(one: Registered, outcome: string): Promise<void> {
    const { run } = this.#visit;
    const { chance, clock, calm } = run;
    this.#visit.note(`${one.kind} is called: ${outcome}`);
    one.calls.push(outcome);
    // Slow ones stay within the time limit.
    if (chance.of(0.4)) await clock.sleep(chance.below(100));
    if (!calm && chance.of(0.1)) throw new Error('the callback failed');
  }
}
