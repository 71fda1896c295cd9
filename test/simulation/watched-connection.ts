import type { IPooledConnection, Row } from '@ambit/transaction';
import { checkBegin, checkCommit } from './moments.js';
import type { Visit } from './visit.js';
import { ignore } from './work.js';

/** The connection of one visit, which hears what is sent at the moment it is sent. */
export class WatchedConnection implements IPooledConnection {
  readonly #inner: IPooledConnection;
  readonly #visit: Visit;

  constructor(inner: IPooledConnection, visit: Visit) {
    this.#inner = inner;
    this.#visit = visit;
    visit.note('has a connection');
  }

  beginTransaction(): Promise<void> {
    this.#visit.note('BEGIN');
    checkBegin(this.#visit);
    return this.#inner.beginTransaction();
  }

  commit(): Promise<void> {
    this.#visit.note('COMMIT');
    checkCommit(this.#visit);
    const committing = this.#inner.commit();
    committing.then(() => (this.#visit.commitIsSettled = true), ignore);
    return committing;
  }

  rollback(): Promise<void> {
    this.#visit.note('ROLLBACK');
    return this.#inner.rollback();
  }

  query<R extends object = Row>(sql: string): Promise<R[]> {
    this.#visit.note(`query ${sql}`);
    return this.#inner.query<R>(sql);
  }

  cancel(): void {
    this.#visit.note('cancel');
    this.#inner.cancel?.();
  }

  release(destroy?: boolean | Error): void {
    this.#visit.note(destroy ? 'destroys its connection' : 'releases its connection');
    this.#inner.release(destroy);
    const { run } = this.#visit;
    if (!run.calm && run.chance.of(0.02)) {
      run.unruly = true;
      throw new Error('release failed');
    }
  }
}
