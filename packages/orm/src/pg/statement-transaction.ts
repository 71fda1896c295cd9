import type { Transaction } from '@ambit/transaction';
import { firstWords, isTransactionControl, POSTGRES, type Savepoint } from '@ambit/transaction/extension';

const BEGINS = /^(?:begin|start transaction)\b/;
const COMMITS = /^(?:commit|end)(?: work| transaction)?$/;
const ROLLS_BACK = /^(?:rollback|abort)(?: work| transaction)?$/;

const ISOLATION = /\bisolation\s+level\s+(\w+(?:\s+(?:read|committed|uncommitted))?)/i;
const ACCESS = /\bread\s+(only|write)\b/i;
const DEFERRABLE = /\b(?:not\s+)?deferrable\b/i;

/**
 * What a BEGIN asks for, as a nested run takes it: the run may repeat what the transaction around it is, and refuses the rest.
 *
 * @param sql - a BEGIN, or the part of it that follows BEGIN
 */
function beginOptionsIn(sql: string): object {
  const isolation = ISOLATION.exec(sql)?.[1]?.toLowerCase().replaceAll(/\s+/g, ' ');
  const access = ACCESS.exec(sql)?.[1]?.toLowerCase();
  const [deferrable] = DEFERRABLE.exec(sql) ?? [];
  return { isolation, readOnly: access && access === 'only', deferrable };
}

/**
 * The nested transaction of a library that begins and completes transactions with statements: its BEGIN sets a savepoint, its
 * COMMIT releases it, and its ROLLBACK undoes it. One at a time, as on a connection of PostgreSQL.
 */
export class StatementTransaction {
  readonly #transaction: Transaction;
  #savepoint: Savepoint | undefined = undefined;
  /** A library may send a ROLLBACK after a BEGIN that failed, and would report the failure of that. */
  #wasRefused = false;

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
  }

  /** Makes `work` part of the nested transaction, where one has begun. */
  within<T>(work: () => T): T {
    return this.#savepoint ? this.#savepoint.within(work) : work();
  }

  /**
   * Runs a statement that controls a transaction.
   *
   * @param sql - any statement
   * @returns the command; undefined for a statement that controls none, which is not sent
   * @throws `TransactionError` `AMBIT_TX_CONTROL_STATEMENT`: it would complete the transaction around it
   */
  async control(sql: string): Promise<string | undefined> {
    if (!isTransactionControl(sql)) return undefined;
    const words = firstWords(sql, POSTGRES);
    if (BEGINS.test(words)) return this.#begin(sql);
    if (this.#savepoint && COMMITS.test(words)) return this.#commit(this.#savepoint);
    if ((this.#savepoint || this.#wasRefused) && ROLLS_BACK.test(words)) return this.#undo();
    // Refused, with the reason.
    await this.#transaction.connection.query(sql);
    return undefined;
  }

  async #undo(): Promise<string> {
    const savepoint = this.#savepoint;
    this.#wasRefused = false;
    await savepoint?.undo();
    this.#end(savepoint);
    return 'ROLLBACK';
  }

  async #begin(sql: string): Promise<string> {
    const isOutermost = !this.#savepoint;
    const savepoint = (this.#savepoint ??= this.#transaction.createSavepoint());
    try {
      await savepoint.begin(beginOptionsIn(sql));
    } catch (error) {
      if (isOutermost) this.#end(savepoint);
      this.#wasRefused = isOutermost;
      throw error;
    }
    this.#wasRefused = false;
    return 'BEGIN';
  }

  /** After a COMMIT that failed, a ROLLBACK follows. */
  async #commit(savepoint: Savepoint): Promise<string> {
    await savepoint.release();
    this.#end(savepoint);
    return 'COMMIT';
  }

  #end(savepoint: Savepoint | undefined): void {
    savepoint?.end();
    if (this.#savepoint === savepoint) this.#savepoint = undefined;
  }
}
