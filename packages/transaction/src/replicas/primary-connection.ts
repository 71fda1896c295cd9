import { type Clock, within } from '../core/clock.js';
import type { BeginOptions, IPooledConnection, Row } from '../core/contract.js';
import { saysNothingStored } from '../core/sql-state.js';
import { type Position, positionIn, UNKNOWN, WRITTEN } from './position.js';

interface Writing {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The caller said that it only reads. */
  readonly readOnly: boolean;
  /** Returns what is called with the position, before the caller learns that its write has succeeded. */
  readonly written: () => (position: Position) => void;
}

/** A connection to the primary that asks for its position after each COMMIT, and after each statement outside of a transaction. */
export class PrimaryConnection implements IPooledConnection {
  readonly #inner: IPooledConnection;
  readonly #writing: Writing;
  #transaction: 'none' | 'reads' | 'writes' = 'none';

  constructor(inner: IPooledConnection, writing: Writing) {
    this.#inner = inner;
    this.#writing = writing;
  }

  get synchronous(): boolean {
    return this.#inner.synchronous ?? false;
  }

  async beginTransaction(options: BeginOptions = {}): Promise<void> {
    await this.#inner.beginTransaction(options);
    this.#transaction = options.readOnly ? 'reads' : 'writes';
  }

  async commit(): Promise<void> {
    const writes = this.#transaction !== 'reads';
    try {
      await this.#inner.commit();
    } catch (error) {
      if (writes && !saysNothingStored(error)) this.#writing.written()(UNKNOWN);
      throw error;
    }
    this.#transaction = 'none';
    if (writes) await this.#askPosition();
  }

  async rollback(): Promise<void> {
    await this.#inner.rollback();
    this.#transaction = 'none';
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    if (this.#transaction !== 'none' || this.#writing.readOnly) return this.#inner.query<R>(sql, params);
    try {
      const rows = await this.#inner.query<R>(sql, params);
      await this.#askPosition();
      return rows;
    } catch (error) {
      if (!saysNothingStored(error)) this.#writing.written()(UNKNOWN);
      throw error;
    }
  }

  cancel(): void {
    this.#inner.cancel?.();
  }

  release(destroy?: boolean | Error): void {
    this.#inner.release(destroy);
  }

  /** The write has succeeded, and stands whatever happens here. */
  async #askPosition(): Promise<void> {
    const { clock, timeoutMs, written } = this.#writing;
    const set = written();
    try {
      const late = (): Error => new Error('The primary took too long to say how far it is');
      set(positionIn(await within(clock, timeoutMs, this.#inner.query(WRITTEN), late)) ?? UNKNOWN);
    } catch {
      set(UNKNOWN);
    }
  }
}
