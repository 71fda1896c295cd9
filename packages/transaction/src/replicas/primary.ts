import { type Clock, startTimer, within } from '../clock.js';
import {
  type AcquireOptions,
  type AfterBegin,
  type BeginOptions,
  type DatabaseConnection,
  executeOn,
  type ExecuteOptions,
  type ExecuteResult,
  type IPooledConnection,
  type Row,
} from '../contract.js';
import { meaningOf, TransactionError, withCallersStack } from '../errors.js';
import { isPermanent, saysNothingStored, sqlStateOf } from '../sql-state.js';
import type { ReplicatedSettings } from './options.js';
import { type Position, positionIn, probe, UNKNOWN, WRITTEN } from './replica.js';

/** The server that takes writes, and whether it can be reached, as far as those know who tried. */
export class Primary {
  readonly #settings: ReplicatedSettings;
  #isAway = false;
  #triedAt = -Infinity;
  #respondedAt = -Infinity;
  /** Never rejects. */
  #trying: Promise<void> | undefined = undefined;

  constructor(settings: ReplicatedSettings) {
    this.#settings = settings;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  get afterBegin(): AfterBegin | undefined {
    return this.#settings.primary.afterBegin;
  }

  connect(options: AcquireOptions): Promise<IPooledConnection> {
    // A write may show that it is back.
    if (this.#isAway) void this.isBack();
    return this.#settings.primary.getConnection(options);
  }

  /** One short statement, whose failure tells whether the primary is away. */
  async probe(sql: string): Promise<Row[]> {
    const { primary, replicaTimeoutMs } = this.#settings;
    const since = this.#settings.clock.now();
    try {
      const rows = await probe(primary.getConnection({ timeoutMs: replicaTimeoutMs }), sql, this.#settings);
      this.responded();
      return rows;
    } catch (error) {
      this.failed(error, since);
      throw error;
    }
  }

  /** Tries a lost primary again now and then. Readers wait for that only where nobody has tried for a while. */
  async isBack(): Promise<boolean> {
    const { clock, retryEveryMs } = this.#settings;
    const age = clock.now() - this.#triedAt;
    if (age >= retryEveryMs) this.#trying ??= this.#try();
    if (age >= 2 * retryEveryMs) await this.#trying;
    return !this.#isAway;
  }

  /** Settles as the work does, or rejects where that takes long and the primary is found to be away meanwhile. */
  unlessAway<T>(work: Promise<T>): Promise<T> {
    const { clock, replicaTimeoutMs } = this.#settings;
    return new Promise<T>((resolve, reject) => {
      const isHere = async (): Promise<void> => {
        await (this.#trying ??= this.#try());
        if (this.#isAway) reject(new TransactionError('AMBIT_TX_CONNECTION_LOST', 'The primary does not respond'));
      };
      const stopTimer = startTimer(clock, () => void isHere(), replicaTimeoutMs);
      work.finally(stopTimer).then(resolve, reject);
    });
  }

  responded(): void {
    this.#respondedAt = this.#settings.clock.now();
    this.#isAway = false;
  }

  /** Notes why nothing could be asked of it, since when. */
  failed(error: unknown, since: number): void {
    const { clock, staleReads } = this.#settings;
    const { fault = 'caller' } = meaningOf(error);
    if (!staleReads || fault === 'caller' || isPermanent(error)) return;
    // It has responded to others meanwhile: it is there, and overloaded.
    if (isOverload(error) && this.#respondedAt > since) return;
    this.#isAway = true;
    this.#triedAt = clock.now();
  }

  async #try(): Promise<void> {
    this.#triedAt = this.#settings.clock.now();
    await this.probe('SELECT 1').catch(() => undefined);
    this.#trying = undefined;
  }
}

/** Too few connections, in the pool or on the server, or too much to do. */
function isOverload(error: unknown): boolean {
  return meaningOf(error).fault === 'time' || sqlStateOf(error)?.startsWith('53') === true;
}

interface Writing {
  readonly clock: Clock;
  readonly timeoutMs: number;
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
      throw withCallersStack(error);
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
