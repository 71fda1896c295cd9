import type { BeginOptions, DatabaseConnection, ExecuteOptions, ExecuteResult, Row } from '../core/contract.js';
import { refusedStatement, TransactionError, withCallersStack } from '../core/errors.js';
import { checkIsolation } from '../core/options.js';
import { codeOf, fieldOf, sqlStateOf } from '../core/sql-state.js';
import { StatementQueue } from '../core/statement-queue.js';
import { isRollbackTo, isSavepoint, refuseTransactionControl } from '../sql/control-statements.js';
import type { OuterTransaction } from './outer-transaction.js';

const CANCELLED = '57014';

/**
 * A connection of a sandbox: BEGIN, COMMIT and ROLLBACK are those of a savepoint. A statement outside of a transaction has a
 * savepoint of its own, because on PostgreSQL its failure would otherwise be that of the whole sandbox.
 */
export class SandboxConnection implements DatabaseConnection {
  readonly #outer: OuterTransaction;
  readonly #onRelease: () => void;
  /** A statement may be several here, between which no other may run. */
  readonly #queue = new StatementQueue();
  #terms: BeginOptions | undefined = undefined;
  #released = false;
  /** The sandbox was rolled back, and stopped waiting for the release. */
  #takenAway = false;
  /** A request to cancel is on its way, and may reach a later statement. */
  #isCancelling = false;

  constructor(outer: OuterTransaction, onRelease: () => void) {
    this.#outer = outer;
    this.#onRelease = onRelease;
  }

  get isBusy(): boolean {
    return this.#queue.busy;
  }

  get isolationSql(): string | undefined {
    return this.#outer.isolationSql;
  }

  async beginTransaction(terms: BeginOptions = {}): Promise<void> {
    checkIsolation(terms.isolation);
    await this.#inTurn(async () => {
      if (this.#terms) {
        const what = 'beginTransaction() was called on a connection with an open transaction';
        throw new TransactionError('AMBIT_TX_ALREADY_OPEN', what);
      }
      await this.#outer.begin(terms);
      this.#terms = terms;
    });
  }

  /** What is sent, or not, is the same as on the connection of a pool; so is what the error says about the outcome. */
  async commit(): Promise<void> {
    if (this.#released) throw released();
    if (this.#takenAway) throw rolledBack();
    await this.#inTurn(async () => {
      if (!this.#terms) throw new TransactionError('AMBIT_TX_CONTROL_STATEMENT', 'COMMIT found no open transaction');
      this.#terms = undefined;
      await this.#outer.keep().catch(throwCommitFailed);
    });
  }

  /** The sandbox may have done it already. */
  async rollback(): Promise<void> {
    if (this.#takenAway && !this.#released) return;
    await this.#inTurn(async () => {
      if (!this.#terms) return;
      this.#terms = undefined;
      await this.#outer.undo();
    });
  }

  async query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#run(sql, () => this.#outer.query<R>(sql, params));
  }

  async execute<R extends object = Row>(
    sql: string,
    params?: readonly unknown[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult<R>> {
    return this.#run(sql, () => this.#outer.execute<R>(sql, params, options));
  }

  cancel(): void {
    if (this.#released || this.#takenAway || !this.isBusy) return;
    this.#isCancelling = true;
    this.#outer.cancel();
  }

  /** There is no other connection to replace this one by, so whether it is broken is found out when it is cleaned up. */
  release(): void {
    if (this.#released) throw new TransactionError('AMBIT_TX_RELEASED', 'release() was called twice');
    this.#released = true;
    this.#queue.clear(released);
    if (this.#takenAway) return;
    if (this.isBusy || this.#terms || this.#isCancelling) void this.#cleanUp();
    else this.#onRelease();
  }

  takeAway(): void {
    this.#takenAway = true;
    this.#queue.clear(rolledBack);
  }

  async #cleanUp(): Promise<void> {
    await this.#queue.idle();
    if (this.#terms) await this.#outer.undo().catch(() => undefined);
    if (this.#isCancelling) this.#outer.lose(new Error('A statement had finished when it was cancelled'));
    this.#onRelease();
  }

  async #run<T>(sql: string, statement: () => Promise<T>): Promise<T> {
    refuseTransactionControl(sql);
    return this.#inTurn(() => (this.#terms ? this.#inTransaction(statement) : this.#alone(sql, statement)));
  }

  async #inTransaction<T>(statement: () => Promise<T>): Promise<T> {
    try {
      return await statement();
    } catch (error) {
      if (sqlStateOf(error) === CANCELLED) this.#isCancelling = false;
      // The pool takes it for the refusal of a standby, since it does not know of our read-only transaction.
      const isReadOnly = this.#terms?.readOnly === true && codeOf(error) === 'AMBIT_TX_READ_ONLY';
      throw isReadOnly ? refusedStatement(fieldOf(error, 'cause'), '25006') : error;
    }
  }

  async #alone<T>(sql: string, statement: () => Promise<T>): Promise<T> {
    if (isSavepoint(sql) || isRollbackTo(sql)) {
      const what = 'A savepoint needs an open transaction';
      throw new TransactionError('AMBIT_TX_STATEMENT_FAILED', what, { sqlState: '25P01' });
    }
    try {
      return await this.#inSavepoint(statement);
    } catch (error) {
      // Nothing was done, and the pool prepares it again, as it does for a statement outside of a transaction.
      if (codeOf(error) === 'AMBIT_TX_STALE_STATEMENT') return await this.#inSavepoint(statement);
      throw error;
    }
  }

  async #inSavepoint<T>(statement: () => Promise<T>): Promise<T> {
    await this.#outer.begin({});
    let result: T;
    try {
      result = await this.#inTransaction(statement);
    } catch (error) {
      await this.#outer.undo().catch(() => undefined);
      throw error;
    }
    await this.#outer.keep();
    return result;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.enter();
    if (turn) await turn;
    try {
      return await work();
    } catch (error) {
      // The functions in between would leave no room for the caller.
      throw withCallersStack(error);
    } finally {
      this.#queue.leave();
    }
  }
}

/** PostgreSQL rolls back in response to COMMIT after a statement has failed. */
function throwCommitFailed(error: unknown): never {
  if (sqlStateOf(error) !== '25P02') throw error;
  const what = 'COMMIT of a transaction in which a statement failed rolled it back';
  throw new TransactionError('AMBIT_TX_COMMIT_FAILED', what, { cause: error, sqlState: '40000' });
}

/** Nothing was sent, which this SQLSTATE says to the code that waits for a COMMIT. */
const NOT_SENT = { sqlState: '08003' };

function released(): TransactionError {
  return new TransactionError('AMBIT_TX_RELEASED', 'The connection was used after its release', NOT_SENT);
}

function rolledBack(): TransactionError {
  return new TransactionError('AMBIT_TX_POOL_CLOSED', 'The sandbox is rolled back', NOT_SENT);
}
