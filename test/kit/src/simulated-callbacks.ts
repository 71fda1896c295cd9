import type { Transaction } from '@ambit/transaction';
import type { SimulatedClock } from '@ambit/transaction/testing';
import type { Chance } from './simulation.js';

const KINDS = ['beforeCommit', 'beforeResponse', 'afterCommit', 'afterRollback', 'afterEnd'] as const;
type Kind = (typeof KINDS)[number];

interface Registered {
  readonly kind: Kind;
  readonly mark: string;
  readonly transaction: Transaction;
  /** The nested run it belongs to has failed. */
  isUndone: boolean;
  /** For each call, its argument, or the outcome that the call stands for. */
  readonly calls: string[];
  isRunning: boolean;
}

interface Circumstances {
  readonly chance: Chance;
  readonly clock: SimulatedClock;
  /** Whether some of them fail. Default true. */
  readonly fail?: boolean;
  /** Is called with each guarantee that was broken. */
  readonly broke: (guarantee: string) => void;
}

const OUTCOME: Readonly<Record<Exclude<Kind, 'beforeCommit' | 'afterEnd'>, string>> = {
  beforeResponse: 'committed',
  afterCommit: 'committed',
  afterRollback: 'rolled back',
};

/** Registers callbacks on the transactions of a simulation, which are slow, fail and send statements, and checks what was called. */
export class SimulatedCallbacks {
  readonly #all: Registered[] = [];
  readonly #in: Circumstances;

  constructor(circumstances: Circumstances) {
    this.#in = circumstances;
  }

  /** Registers some. The function returned says that the nested run around them has failed. */
  register(transaction: Transaction, mark: string): () => void {
    const { chance } = this.#in;
    const registered: Registered[] = [];
    for (let count = chance.of(0.5) ? chance.below(4) : 0; count > 0; count -= 1) {
      const kind = chance.pick(KINDS);
      const one: Registered = { kind, mark, transaction, isUndone: false, calls: [], isRunning: false };
      try {
        this.#register(one);
        registered.push(one);
      } catch {
        // It was rolled back from the side, or a commit is being sent, or a nested run is in progress.
      }
    }
    this.#all.push(...registered);
    return () => {
      for (const one of registered) one.isUndone = true;
    };
  }

  /** Nothing may be in progress any more where the commit has resolved (`beforeResponse`), or the scope around is disposed (all). */
  expectSettled(mark: string, kinds: readonly Kind[], when: string): void {
    for (const one of this.#all) {
      if (one.mark === mark && one.isRunning && kinds.includes(one.kind))
        this.#in.broke(`${one.kind} of ${mark} runs ${when}`);
    }
  }

  /** Called when all is over. */
  check(stored: readonly string[]): void {
    for (const { kind, mark, transaction, isUndone, calls } of this.#all) {
      const outcome = isUndone ? 'rolled back' : transaction.state;
      const seen = `${kind} of ${mark}, which is ${outcome}, was called: ${calls.join(', ') || 'never'}`;
      if (kind === 'beforeCommit') {
        if (calls.length > 1 || (outcome === 'committed' && calls.length !== 1)) this.#in.broke(seen);
        if (calls.includes('failed') && transaction.state !== 'rolled back') this.#in.broke(`${seen}, and stands`);
        if (calls.includes('wrote') && outcome === 'committed' && !stored.includes(`flush of ${mark}`))
          this.#in.broke(`what ${seen} wrote is not stored`);
      } else {
        const expected = kind === 'afterEnd' || outcome === OUTCOME[kind] ? [outcome] : [];
        if (calls.join() !== expected.join()) this.#in.broke(seen);
      }
    }
  }

  #fails(): boolean {
    return this.#in.fail !== false && this.#in.chance.of(0.1);
  }

  #register(one: Registered): void {
    const { transaction, kind } = one;
    const after = (outcome: string) => (): unknown => this.#call(one, outcome);
    if (kind === 'beforeCommit') transaction.beforeCommit(() => this.#prepare(one));
    else if (kind === 'beforeResponse') transaction.afterCommit(after('committed'), { before: 'response' });
    else if (kind === 'afterCommit') transaction.afterCommit(after('committed'));
    else if (kind === 'afterRollback') transaction.afterRollback(after('rolled back'));
    else transaction.afterEnd((outcome) => this.#call(one, outcome));
  }

  async #prepare(one: Registered): Promise<void> {
    const { chance, clock } = this.#in;
    const { transaction, calls, mark } = one;
    calls.push('called');
    if (transaction.state !== 'open')
      this.#in.broke(`beforeCommit of ${mark} was called when it was ${transaction.state}`);
    if (chance.of(0.3)) await clock.sleep(chance.below(100));
    if (chance.of(0.2)) this.register(transaction, mark);
    if (chance.of(0.5)) {
      await transaction.connection.query(`flush of ${mark}`);
      calls[0] = 'wrote';
    }
    if (!this.#fails()) return;
    calls[0] = 'failed';
    throw new Error('beforeCommit failed');
  }

  /** Slow ones stay within the time limit. */
  #call(one: Registered, outcome: string): unknown {
    const { chance, clock } = this.#in;
    one.calls.push(outcome);
    if (['acquired', 'open'].includes(one.transaction.state))
      this.#in.broke(`${one.kind} of ${one.mark} was called too early`);
    if (this.#fails()) throw new Error('the callback failed');
    if (this.#fails()) return one.transaction.connection.query('from a callback');
    if (!chance.of(0.4)) return undefined;
    one.isRunning = true;
    return clock.sleep(chance.below(200)).finally(() => (one.isRunning = false));
  }
}
