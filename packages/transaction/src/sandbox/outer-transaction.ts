import {
  type BeginOptions,
  executeOn,
  type ExecuteOptions,
  type ExecuteResult,
  type IDatabasePool,
  type IPooledConnection,
} from '../contract.js';
import { codeOf } from '../sql-state.js';
import { TransactionError } from '../errors.js';
import { leavesSessionState } from '../postgres/language.js';
import { DATABASES, type SandboxDialect } from '../databases/index.js';
import type { SandboxSettings } from './sandbox.js';

const SAVEPOINT = 'ambit_sandbox';
const CHECK = 'ambit_sandbox_check';
/** A setting that nobody has ever set is NULL, and afterwards an empty text, as on a connection that was used before. */
const READ = "SELECT coalesce(current_setting($1, true), '') AS value";
const RESTORE = `SELECT set_config(key, value, true) FROM json_each_text(CAST(CAST($1 AS text) AS json))
  WHERE coalesce(current_setting(key, true), '') <> value`;

/** The dialect of the database that the open transaction is on. On SQLite and MariaDB a statement that fails does not affect its transaction. */
async function dialectOf(connection: IPooledConnection, lockTimeoutMs: number): Promise<SandboxDialect> {
  const { sqlite, ...others } = DATABASES;
  for (const database of Object.values(others)) {
    try {
      return await database.sandbox(connection, lockTimeoutMs);
    } catch (error) {
      if (codeOf(error) !== 'AMBIT_TX_STATEMENT_FAILED') throw error;
    }
  }
  return sqlite.sandbox();
}

/** Settings by name, as they were before. */
type Settings = Map<string, string>;

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
  /** Changed for the transaction of the code under test. */
  readonly #ofTransaction: Settings = new Map();
  /** Changed for the session, which in production no other user of the pool gets. */
  readonly #ofSession: Settings = new Map();

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
    for (const name of this.#dialect.settingsChangedBy?.(sql, params) ?? []) await this.#remember(name, sql);
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
      await this.#restore(this.#ofTransaction);
      await this.#query(`RELEASE SAVEPOINT ${SAVEPOINT}`);
    } catch (error) {
      await this.undo().catch(() => undefined);
      throw error;
    }
  }

  /** In place of ROLLBACK. Where it fails, the sandbox is lost. */
  async undo(): Promise<void> {
    this.#ofTransaction.clear();
    try {
      await this.#query(`ROLLBACK TO SAVEPOINT ${SAVEPOINT}`);
      await this.#query(`RELEASE SAVEPOINT ${SAVEPOINT}`);
      await this.#writable();
    } catch (error) {
      this.lose(error);
      this.refuseIfLost();
    }
  }

  get hasSessionSettings(): boolean {
    return this.#ofSession.size > 0;
  }

  /** The next user of the pool would have another session. */
  async restoreSession(): Promise<void> {
    await this.#restore(this.#ofSession).catch((error: unknown) => this.lose(error));
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

  async #remember(name: string, sql: string): Promise<void> {
    const settings = leavesSessionState(sql) ? this.#ofSession : this.#ofTransaction;
    if (settings.has(name)) return;
    const [row] = await this.#send(() => this.#connection.query<{ value: string }>(READ, [name]));
    settings.set(name, row?.value ?? '');
  }

  /** The last one first: it may be a role that may not change the others. */
  async #restore(settings: Settings): Promise<void> {
    if (settings.size === 0) return;
    const before = JSON.stringify(Object.fromEntries([...settings].toReversed()));
    await this.#send(() => this.#connection.query(RESTORE, [before]));
    settings.clear();
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
