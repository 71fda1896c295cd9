import { type Clock, within } from '../core/clock.js';
import type {
  BeginOptions,
  DatabaseConnection,
  ExecuteOptions,
  ExecuteResult,
  IPooledConnection,
  Row,
} from '../core/contract.js';
import { executeOn } from '../core/execute-on.js';
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
export class PrimaryConnection implements DatabaseConnection {
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

  get isolationSql(): string | undefined {
    return this.#inner.isolationSql;
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

  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#run(() => this.#inner.query<R>(sql, params));
  }

  execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    return this.#run(() => executeOn<R>(this.#inner, sql, params, options));
  }

  async #run<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#transaction !== 'none' || this.#writing.readOnly) return statement();
    try {
      const result = await statement();
      await this.#askPosition();
      return result;
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
