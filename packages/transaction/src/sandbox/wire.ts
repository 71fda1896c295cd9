import type { BeginOptions, ExecuteOptions, ExecuteResult } from '../contract.js';
import { refusedStatement, savepointAlone, TransactionError } from '../errors.js';
import { codeOf, fieldOf, sqlStateOf } from '../sql-state.js';
import type { Driver, Wire } from '../pool/driver.js';
import { isRollbackTo } from '../sql/control-statements.js';
import type { OuterTransaction } from './outer-transaction.js';

const CANCELLED = '57014';

const PLACE =
  'the one connection of the sandbox, on which transactions and pool.query() run one after another: code that holds it must release it before it asks again';

type Result = ExecuteResult<never>;

export function driverOf(outer: OuterTransaction): Driver {
  let last: SandboxWire | undefined;
  return {
    language: {
      begin: ({ readOnly = false }) => [readOnly ? 'BEGIN READ ONLY' : 'BEGIN'],
      isolationSql: outer.isolationSql,
      // The connection below finds out by itself.
      leavesSessionState: () => false,
      translate: (error) => refusedStatement(error, sqlStateOf(error)),
    },
    max: 1,
    name: PLACE,
    size: { open: 1 },
    connect: () => {
      outer.refuseIfLost();
      return (last = new SandboxWire(outer));
    },
    close: () => outer.end({ isBusy: last?.isBusy ?? false }),
  };
}

/**
 * BEGIN, COMMIT and ROLLBACK are those of a savepoint. A statement outside of a transaction has a savepoint of its own,
 * because on PostgreSQL its failure would otherwise be that of the whole sandbox.
 */
class SandboxWire implements Wire {
  /** The transaction of the sandbox may be; it says so itself. */
  readonly isLost = false;
  readonly #outer: OuterTransaction;
  #beginOptions: BeginOptions | undefined = undefined;
  /** Never rejects. */
  #inProgress: Promise<unknown> | undefined = undefined;
  /** A request to cancel is on its way, and may reach a later statement. */
  #isCancelling = false;

  constructor(outer: OuterTransaction) {
    this.#outer = outer;
  }

  get isBusy(): boolean {
    return this.#inProgress !== undefined;
  }

  async send(sql: string, params?: readonly unknown[], options?: ExecuteOptions): Promise<Result> {
    const sending = params ? this.#run(sql, params, options) : this.#control(sql);
    this.#inProgress = sending.catch(() => undefined);
    try {
      return await sending;
    } finally {
      this.#inProgress = undefined;
    }
  }

  cancel(): void {
    if (!this.isBusy) return;
    this.#isCancelling = true;
    this.#outer.cancel();
  }

  /** There is no other connection to replace this one by, so whether it is broken is found out when it is cleaned up. */
  release(): void | Promise<void> {
    const isClean = !this.isBusy && !this.#beginOptions && !this.#isCancelling && !this.#outer.hasSessionSettings;
    return isClean ? undefined : this.#cleanUp();
  }

  async #cleanUp(): Promise<void> {
    await this.#inProgress;
    if (this.#beginOptions) await this.#outer.undo().catch(() => undefined);
    if (this.#isCancelling) this.#outer.lose(new Error('A statement had finished when it was cancelled'));
    else await this.#outer.restoreSession();
  }

  async #control(sql: string): Promise<Result> {
    const beginOptions = this.#beginOptions;
    if (sql.startsWith('BEGIN')) await this.#begin({ readOnly: sql !== 'BEGIN' });
    else this.#beginOptions = undefined;
    if (sql === 'COMMIT') await this.#outer.keep().catch(throwCommitFailed);
    if (sql === 'ROLLBACK' && beginOptions) await this.#outer.undo();
    return { rows: [], rowCount: null, command: sql, fields: [] };
  }

  async #begin(beginOptions: BeginOptions): Promise<void> {
    await this.#outer.begin(beginOptions);
    this.#beginOptions = beginOptions;
  }

  async #run(sql: string, params: readonly unknown[], options: ExecuteOptions | undefined): Promise<Result> {
    const statement = (): Promise<Result> => this.#outer.run(sql, params, options);
    if (this.#beginOptions) return this.#inTransaction(statement);
    if (isRollbackTo(sql)) throw savepointAlone();
    try {
      return await this.#inSavepoint(statement);
    } catch (error) {
      // Nothing was done, and the pool prepares it again, as it does for a statement outside of a transaction.
      if (codeOf(error) === 'AMBIT_TX_STALE_STATEMENT') return await this.#inSavepoint(statement);
      throw error;
    }
  }

  async #inTransaction(statement: () => Promise<Result>): Promise<Result> {
    try {
      return await statement();
    } catch (error) {
      if (sqlStateOf(error) === CANCELLED) this.#isCancelling = false;
      // The pool takes it for the refusal of a standby, since it does not know of our read-only transaction.
      const isReadOnly = this.#beginOptions?.readOnly === true && codeOf(error) === 'AMBIT_TX_READ_ONLY';
      throw isReadOnly ? refusedStatement(fieldOf(error, 'cause'), '25006') : error;
    }
  }

  async #inSavepoint(statement: () => Promise<Result>): Promise<Result> {
    await this.#outer.begin({});
    let result: Result;
    try {
      result = await this.#inTransaction(statement);
    } catch (error) {
      await this.#outer.undo().catch(() => undefined);
      throw error;
    }
    await this.#outer.keep();
    return result;
  }
}

/** PostgreSQL rolls back in response to COMMIT after a statement has failed. */
function throwCommitFailed(error: unknown): never {
  if (sqlStateOf(error) !== '25P02') throw error;
  const what = 'COMMIT of a transaction in which a statement failed rolled it back';
  throw new TransactionError('AMBIT_TX_COMMIT_FAILED', what, { cause: error, sqlState: '40000' });
}
