import type { Clock } from '../core/clock.js';
import { isRollbackTo } from '../sql/control-statements.js';
import type { IPooledConnection, Row } from '../core/contract.js';
import { databaseError, type FakeFault, type FaultPoint } from './faults.js';

export interface FakeLoan {
  readonly clock: Clock;
  readonly faultAt: (point: FaultPoint) => FakeFault;
  readonly synchronous: boolean;
  readonly violate: (rule: string) => void;
  readonly store: (statements: readonly string[]) => void;
  readonly onReturn: () => void;
}

type Session = 'idle' | 'open' | 'failed' | 'dead';

/**
 * A connection with the manners of PostgreSQL and none of its patience: it remembers what each transaction did, fails
 * where it is told to, and writes down whatever a correct caller would never do.
 */
export class FakeConnection implements IPooledConnection {
  readonly synchronous: boolean;
  readonly #loan: FakeLoan;
  #session: Session = 'idle';
  #written: string[] = [];
  #savepoints: { readonly name: string; readonly written: number }[] = [];
  #busy = false;
  #ended = false;
  #released = false;
  #cancelled = false;
  /** Rejects the statement under way. */
  #interrupt: ((error: Error) => void) | undefined;

  constructor(loan: FakeLoan) {
    this.#loan = loan;
    this.synchronous = loan.synchronous;
  }

  beginTransaction(): Promise<void> {
    if (this.#session !== 'idle') this.#loan.violate('BEGIN in an open transaction');
    return this.#statement('begin', () => {
      this.#session = 'open';
    });
  }

  commit(): Promise<void> {
    if (this.#session === 'failed') this.#loan.violate('COMMIT after a failure was seen');
    if (this.#ended) this.#loan.violate('COMMIT after the end');
    this.#ended = true;
    const written = this.#written;
    return this.#statement('commit', () => {
      const stores = this.#session === 'open';
      this.#finish();
      if (!stores) throw databaseError('COMMIT was answered with ROLLBACK', '40000');
      this.#loan.store(written);
    });
  }

  rollback(): Promise<void> {
    if (this.#ended) this.#loan.violate('ROLLBACK after the end');
    this.#ended = true;
    return this.#statement('rollback', () => this.#finish());
  }

  async query<R extends object = Row>(sql: string): Promise<R[]> {
    if (this.#ended) this.#loan.violate(`"${sql}" after the end`);
    await this.#statement('query', () => this.#execute(sql));
    return [];
  }

  cancel(): void {
    this.#cancelled = true;
    const { ms, kind } = this.#loan.faultAt('cancel');
    if (kind === 'never') return;
    this.#loan.clock.setTimer(() => this.#interrupt?.(databaseError('canceled on request', '57014')), ms);
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) return this.#loan.violate('released twice');
    this.#released = true;
    if (destroy === false) {
      if (this.#session !== 'idle') this.#loan.violate(`given back while ${this.#session}`);
      if (this.#busy) this.#loan.violate('given back during a statement');
      if (this.#cancelled) this.#loan.violate('given back after a cancel request');
    }
    this.#loan.onReturn();
  }

  #execute(sql: string): void {
    if (isRollbackTo(sql)) return this.#rollbackTo(sql);
    if (this.#session === 'failed') throw databaseError('the transaction is aborted', '25P02');
    const savepoint = /^SAVEPOINT (\w+)/.exec(sql)?.[1];
    const release = /^RELEASE SAVEPOINT (\w+)/.exec(sql)?.[1];
    if (savepoint) this.#savepoints.push({ name: savepoint, written: this.#written.length });
    else if (release) this.#savepoints.splice(this.#find(release));
    else if (this.#session === 'open') this.#written.push(sql);
    else this.#loan.store([sql]);
  }

  #rollbackTo(sql: string): void {
    const index = this.#find(sql.split(' ').at(-1) ?? '');
    this.#written.length = this.#savepoints[index]?.written ?? 0;
    this.#savepoints.length = index + 1;
    this.#session = 'open';
  }

  #find(name: string): number {
    const index = this.#savepoints.map((savepoint) => savepoint.name).lastIndexOf(name);
    if (index === -1) throw databaseError(`no such savepoint: ${name}`, '3B001');
    return index;
  }

  #finish(): void {
    this.#session = 'idle';
    this.#written = [];
  }

  /** One statement: the request travels, the database acts, the answer travels. Each of the three can go wrong. */
  #statement(point: FaultPoint, act: () => void): Promise<void> {
    const { clock, faultAt, violate } = this.#loan;
    if (this.#released) violate(`${point} after release`);
    if (this.#busy) violate(`${point} during another statement`);
    const { ms, kind } = faultAt(point);
    this.#busy = true;
    return new Promise<void>((resolve, reject) => {
      const answer = (error?: Error): void => {
        if (!this.#interrupt) return;
        this.#interrupt = undefined;
        this.#busy = false;
        if (!error) return resolve();
        if (this.#session === 'open') this.#session = 'failed';
        reject(error);
      };
      this.#interrupt = answer;
      // Only BEGIN may wait there; for anything else there is no way for an answer to get lost on.
      if (this.synchronous && point !== 'begin') this.#arrive(kind === 'never' ? 'lost' : kind, act, answer);
      else if (kind !== 'never') clock.setTimer(() => this.#arrive(kind, act, answer), ms);
    });
  }

  #arrive(kind: FakeFault['kind'], act: () => void, answer: (error?: Error) => void): void {
    // An answer to a statement that was cancelled meanwhile comes to nobody.
    if (!this.#interrupt) return;
    if (this.#session === 'dead' || kind === 'lost') return this.#die(answer);
    if (kind === 'refused') return answer(this.#refuse('55000'));
    if (kind === 'conflict') return answer(this.#refuse('40001'));
    try {
      act();
    } catch (error) {
      return answer(error as Error);
    }
    return kind === 'lost after' ? this.#die(answer) : answer();
  }

  #refuse(sqlState: string): Error {
    // A COMMIT that is refused has ended the transaction.
    if (this.#ended) this.#finish();
    return databaseError('refused', sqlState);
  }

  #die(answer: (error?: Error) => void): void {
    this.#session = 'dead';
    answer(new Error('the connection died'));
  }
}
