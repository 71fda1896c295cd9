import {
  type BeginOptions,
  executeOn,
  type ExecuteOptions,
  type ExecuteResult,
  type IDatabasePool,
  type IPooledConnection,
} from '../core/contract.js';
import { codeOf } from '../core/sql-state.js';
import { TransactionError } from '../core/errors.js';
import { dialectOf, type SandboxDialect } from './dialects.js';
import type { SandboxSettings } from './sandbox.js';

const SAVEPOINT = 'ambit_sandbox';
const CHECK = 'ambit_sandbox_check';

/**
 * The one transaction of a sandbox, which is never committed. A transaction within the sandbox is a savepoint in it. Once
 * the transaction is lost, every use is refused: a statement after that could be stored.
 */
export class OuterTransaction {
  readonly #connection: IPooledConnection;
  readonly #dialect: SandboxDialect;
  /** Why nothing may be sent any more. */
  #lost: { readonly cause: unknown } | undefined = undefined;
  #isReadOnly = false;

  private constructor(connection: IPooledConnection, dialect: SandboxDialect) {
    this.#connection = connection;
    this.#dialect = dialect;
  }

  get isolationSql(): string | undefined {
    return this.#connection.isolationSql;
  }

  static async begin(pool: IDatabasePool, settings: SandboxSettings): Promise<OuterTransaction> {
    const { acquireTimeoutMs: timeoutMs, isolation, lockTimeoutMs } = settings;
    const connection = await pool.getConnection({ timeoutMs });
    try {
      await connection.beginTransaction(isolation === undefined ? {} : { isolation });
      return new OuterTransaction(connection, await dialectOf(connection, lockTimeoutMs));
    } catch (error) {
      connection.release(true);
      throw error;
    }
  }

  /** Throws once the transaction is lost. */
  refuseIfLost(): void {
    if (!this.#lost) return;
    const what = 'The sandbox has lost its transaction, and everything in it';
    throw new TransactionError('AMBIT_TX_CONNECTION_LOST', what, this.#lost);
  }

  /** As `Wire.send()`. */
  async run(
    sql: string,
    params: readonly unknown[],
    options: ExecuteOptions | undefined,
  ): Promise<ExecuteResult<never>> {
    if (this.#isReadOnly) this.#dialect.refuseWrite?.(sql);
    if (options) return this.#send(() => executeOn(this.#connection, sql, params, options));
    return {
      rows: await this.#send(() => this.#connection.query(sql, params)),
      rowCount: null,
      command: '',
      fields: [],
    };
  }

  async begin({ readOnly = false }: BeginOptions): Promise<void> {
    await this.#query(`SAVEPOINT ${SAVEPOINT}`);
    this.#isReadOnly = readOnly;
    const { beginReadOnly } = this.#dialect;
    if (readOnly && beginReadOnly) await this.#query(beginReadOnly);
  }

  /** In place of COMMIT. Where it fails, nothing is kept. */
  async keep(): Promise<void> {
    try {
      await this.#writable();
      if (this.#dialect.hasDeferrable) await this.#checkConstraints();
      await this.#query(`RELEASE SAVEPOINT ${SAVEPOINT}`);
    } catch (error) {
      await this.undo().catch(() => undefined);
      throw error;
    }
  }

  /** In place of ROLLBACK. Where it fails, the sandbox is lost. */
  async undo(): Promise<void> {
    try {
      await this.#query(`ROLLBACK TO SAVEPOINT ${SAVEPOINT}`);
      await this.#query(`RELEASE SAVEPOINT ${SAVEPOINT}`);
      await this.#writable();
    } catch (error) {
      this.lose(error);
      this.refuseIfLost();
    }
  }

  /** From now on every use is refused, because the connection or the transaction may be broken. */
  lose(cause: unknown): void {
    this.#lost ??= { cause };
  }

  cancel(): void {
    this.#connection.cancel?.();
  }

  /** Undoes everything and returns the connection; where that is uncertain the connection is closed, which undoes it, too. */
  async end({ isBusy }: { isBusy: boolean }): Promise<void> {
    if (isBusy) this.cancel();
    if (isBusy || this.#lost) return this.#connection.release(true);
    try {
      await this.#connection.rollback();
      this.#connection.release();
    } catch {
      this.#connection.release(true);
    }
  }

  async #send<T>(statement: () => Promise<T>): Promise<T> {
    this.refuseIfLost();
    try {
      return await statement();
    } catch (error) {
      if (codeOf(error) === 'AMBIT_TX_CONNECTION_LOST' || (await this.#isUndone())) this.lose(error);
      throw error;
    }
  }

  async #query(sql: string): Promise<void> {
    await this.#send(() => this.#connection.query(sql));
  }

  async #isUndone(): Promise<boolean> {
    if (!this.#dialect.mayLoseTransaction) return false;
    try {
      await this.#connection.beginTransaction();
    } catch {
      return false;
    }
    await this.#connection.rollback();
    return true;
  }

  async #writable(): Promise<void> {
    const { endReadOnly } = this.#dialect;
    if (this.#isReadOnly && endReadOnly) await this.#query(endReadOnly);
    this.#isReadOnly = false;
  }

  /** In a savepoint of its own, so that the constraints are deferred again in the next transaction. */
  async #checkConstraints(): Promise<void> {
    await this.#query(`SAVEPOINT ${CHECK}`);
    await this.#query('SET CONSTRAINTS ALL IMMEDIATE');
    await this.#query(`ROLLBACK TO SAVEPOINT ${CHECK}`);
  }
}
