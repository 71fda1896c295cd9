import type { Clock } from '../core/clock.js';
import { isRollbackTo } from '../sql/control-statements.js';
import type { DatabaseConnection, ExecuteResult, Row } from '../core/contract.js';
import { commandOf } from '../sql/command.js';
import { POSTGRES } from '../sql/lexer.js';
import { databaseError, type FakeFault, type FaultPoint } from './faults.js';

export interface FakeCheckout {
  readonly clock: Clock;
  readonly faultAt: (point: FaultPoint) => FakeFault;
  readonly synchronous: boolean;
  readonly violate: (rule: string) => void;
  readonly store: (statements: readonly string[]) => void;
  readonly onRelease: () => void;
}

type Session = 'idle' | 'open' | 'failed' | 'dead';

/**
 * A connection that behaves like PostgreSQL: it remembers what each transaction did, fails where the test says, and
 * records everything that a correct caller would never do.
 */
export class FakeConnection implements DatabaseConnection {
  readonly synchronous: boolean;
  readonly #checkout: FakeCheckout;
  #session: Session = 'idle';
  #written: string[] = [];
  #savepoints: { readonly name: string; readonly written: number }[] = [];
  #busy = false;
  #completed = false;
  #released = false;
  #cancelled = false;
  /** Rejects the statement in progress. */
  #interrupt: ((error: Error) => void) | undefined;

  constructor(checkout: FakeCheckout) {
    this.#checkout = checkout;
    this.synchronous = checkout.synchronous;
  }

  beginTransaction(): Promise<void> {
    if (this.#session !== 'idle') this.#checkout.violate('BEGIN in an open transaction');
    return this.#statement('begin', () => {
      this.#session = 'open';
    });
  }

  commit(): Promise<void> {
    if (this.#session === 'failed') this.#checkout.violate('COMMIT after a failure was seen');
    if (this.#completed) this.#checkout.violate('COMMIT after COMMIT or ROLLBACK');
    this.#completed = true;
    const written = this.#written;
    return this.#statement('commit', () => {
      const stores = this.#session === 'open';
      this.#finish();
      if (!stores) throw databaseError('COMMIT of a failed transaction rolled back', '40000');
      this.#checkout.store(written);
    });
  }

  rollback(): Promise<void> {
    if (this.#completed) this.#checkout.violate('ROLLBACK after COMMIT or ROLLBACK');
    this.#completed = true;
    return this.#statement('rollback', () => this.#finish());
  }

  async query<R extends object = Row>(sql: string): Promise<R[]> {
    if (this.#completed) this.#checkout.violate(`"${sql}" after COMMIT or ROLLBACK`);
    await this.#statement('query', () => this.#execute(sql));
    return [];
  }

  /** There are no rows here, so none were changed. */
  async execute<R extends object = Row>(sql: string): Promise<ExecuteResult<R>> {
    const rows = await this.query<R>(sql);
    return { rows, rowCount: 0, command: commandOf(sql, POSTGRES), fields: [] };
  }

  cancel(): void {
    this.#cancelled = true;
    const { ms, kind } = this.#checkout.faultAt('cancel');
    if (kind === 'never') return;
    this.#checkout.clock.setTimer(() => this.#interrupt?.(databaseError('canceled on request', '57014')), ms);
  }

  release(destroy: boolean | Error = false): void {
    if (this.#released) return this.#checkout.violate('released twice');
    this.#released = true;
    if (destroy === false) {
      if (this.#session !== 'idle') this.#checkout.violate(`released while ${this.#session}`);
      if (this.#busy) this.#checkout.violate('released during a statement');
      if (this.#cancelled) this.#checkout.violate('released after a cancel request');
    }
    this.#checkout.onRelease();
  }

  #execute(sql: string): void {
    if (isRollbackTo(sql)) return this.#rollbackTo(sql);
    if (this.#session === 'failed') throw databaseError('the transaction is aborted', '25P02');
    const savepoint = /^SAVEPOINT (\w+)/.exec(sql)?.[1];
    const release = /^RELEASE SAVEPOINT (\w+)/.exec(sql)?.[1];
    if (savepoint) this.#savepoints.push({ name: savepoint, written: this.#written.length });
    else if (release) this.#savepoints.splice(this.#find(release));
    else if (this.#session === 'open') this.#written.push(sql);
    else this.#checkout.store([sql]);
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

  /** One statement: the request is sent, the database acts, the response is sent. Each of the three can fail. */
  #statement(point: FaultPoint, act: () => void): Promise<void> {
    const { clock, faultAt, violate } = this.#checkout;
    if (this.#released) violate(`${point} after release`);
    if (this.#busy) violate(`${point} during another statement`);
    const { ms, kind } = faultAt(point);
    this.#busy = true;
    return new Promise<void>((resolve, reject) => {
      const respond = (error?: Error): void => {
        if (!this.#interrupt) return;
        this.#interrupt = undefined;
        this.#busy = false;
        if (!error) return resolve();
        if (this.#session === 'open') this.#session = 'failed';
        reject(error);
      };
      this.#interrupt = respond;
      // Only BEGIN may wait there; for anything else no response can get lost.
      if (this.synchronous && point !== 'begin') this.#arrive(kind === 'never' ? 'lost' : kind, act, respond);
      else if (kind !== 'never') clock.setTimer(() => this.#arrive(kind, act, respond), ms);
    });
  }

  #arrive(kind: FakeFault['kind'], act: () => void, respond: (error?: Error) => void): void {
    // Nobody waits for a statement that was cancelled meanwhile.
    if (!this.#interrupt) return;
    if (this.#session === 'dead' || kind === 'lost') return this.#die(respond);
    if (kind === 'refused') return respond(this.#refuse('55000'));
    if (kind === 'conflict') return respond(this.#refuse('40001'));
    try {
      act();
    } catch (error) {
      return respond(error as Error);
    }
    return kind === 'lost after' ? this.#die(respond) : respond();
  }

  #refuse(sqlState: string): Error {
    // After a refused COMMIT the transaction is over.
    if (this.#completed) this.#finish();
    return databaseError('refused', sqlState);
  }

  #die(respond: (error?: Error) => void): void {
    this.#session = 'dead';
    respond(new Error('the connection died'));
  }
}
