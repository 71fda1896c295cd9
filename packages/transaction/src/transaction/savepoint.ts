import { AsyncLocalStorage } from 'node:async_hooks';
import { TransactionError } from '../errors.js';
import { isIsolation, type TransactionOptions } from '../options.js';
import type { Transaction } from './transaction.js';

/** Compared by identity, because the names of savepoints are reused. */
export interface NestedRun {
  isOver: boolean;
  /** The transactions that the run is no part of, although they began in its scope: it is `not-supported`. */
  readonly outsideOf?: readonly object[];
}

/** The nested runs, of any transaction, that the code now running belongs to. */
const current = new AsyncLocalStorage<readonly NestedRun[]>();

/** Makes `work`, and everything that it starts, part of the run. */
export function withinRun<T>(run: NestedRun, work: () => T): T {
  const around = current.getStore() ?? [];
  if (around.includes(run)) return work();
  // Code that outlives its run may start the next one, and so on: finished runs must not pile up.
  return current.run([...around.filter(({ isOver }) => !isOver), run], work);
}

/** True if the code now running belongs to a run that is no part of the transaction. */
export function isOutsideOf(transaction: object): boolean {
  return current.getStore()?.some(({ outsideOf }) => outsideOf?.includes(transaction)) ?? false;
}

/** A statement or a callback from outside a nested run would be inside its savepoint all the same, and be undone when the run fails. */
export function refuseOutsider(inProgress: readonly NestedRun[], what = 'The connection was used'): void {
  const innermost = inProgress.at(-1);
  if (!innermost || current.getStore()?.includes(innermost)) return;
  throw new TransactionError(
    'AMBIT_TX_NESTED',
    `${what} outside of the nested run that is in progress in the transaction`,
  );
}

/**
 * A nested run in separate calls, for ORMs whose nested transactions are not one function: `begin()`, then `release()` or
 * `undo()`, or `undo()` after a `release()` that failed. Further calls change nothing. A connection of an ORM may begin one
 * after another, until `end()`; the code that uses the connection is part of each of them.
 */
export class Savepoint {
  readonly #outer: Transaction;
  readonly #parent: Savepoint | undefined;
  readonly #run: NestedRun = { isOver: false };
  #isBegun = false;
  #name = '';

  /** @internal Call `createSavepoint()` of the transaction instead. */
  constructor(outer: Transaction, parent?: Savepoint) {
    this.#outer = outer;
    this.#parent = parent;
  }

  /**
   * Makes `work` part of the run. Where none is begun this changes nothing.
   *
   * @param work - what sends statements of the run
   * @returns what `work` returns
   */
  within<T>(work: () => T): T {
    const enter = (): T => withinRun(this.#run, work);
    return this.#parent ? this.#parent.within(enter) : enter();
  }

  /**
   * Sets the savepoint.
   *
   * @param options - what the ORM asks of the run, such as an isolation level: refused where the transaction has another
   * @throws `TransactionError` `AMBIT_TX_NESTED`: the options ask for what only BEGIN can give, the code is outside of the run in
   *   progress, or this run has begun already
   * @throws what a statement on the connection of the transaction throws
   */
  begin(options: object = {}): Promise<void> {
    return this.within(async () => {
      if (this.#isBegun) throw alreadyBegun();
      const comparing = refuseOtherOptions(this.#outer, options);
      if (comparing) await comparing;
      const { nestedRuns } = this.#outer;
      refuseOutsider(nestedRuns);
      nestedRuns.push(this.#run);
      this.#isBegun = true;
      this.#name = `ambit_${nestedRuns.length}`;
      try {
        await this.#send('SAVEPOINT');
      } catch (error) {
        this.#close();
        throw error;
      }
    });
  }

  /**
   * Keeps the statements of the run, as a part of the transaction.
   *
   * @throws what a statement on the connection of the transaction throws
   */
  async release(): Promise<void> {
    if (!this.#isBegun) return;
    await this.within(() => this.#send('RELEASE SAVEPOINT'));
    this.#close();
  }

  /**
   * Undoes the statements of the run, unless the transaction is completed. Never rejects.
   *
   * @param reason - what the callbacks of the run receive
   */
  async undo(reason?: unknown): Promise<void> {
    if (!this.#isBegun) return;
    if (this.#outer.state === 'open') await this.within(() => this.#undo(reason));
    this.#close();
  }

  /** No further `begin()` follows. Code that outlives the run does not take it along into others. */
  end(): void {
    this.#run.isOver = true;
  }

  async #undo(reason: unknown): Promise<void> {
    try {
      await this.#send('ROLLBACK TO SAVEPOINT');
    } catch (error) {
      // A commit may be waiting already, or a run within this one may be in progress: the statements are not undone.
      return this.#outer.markRollbackOnly(error);
    }
    this.#outer.callbacks?.undoneBecause(reason);
    // The savepoint is empty now, so it may stay where this is refused.
    await this.#send('RELEASE SAVEPOINT').catch(() => undefined);
  }

  #close(): void {
    this.#isBegun = false;
    const { nestedRuns } = this.#outer;
    const index = nestedRuns.indexOf(this.#run);
    if (index !== -1) nestedRuns.splice(index, 1);
  }

  async #send(command: string): Promise<void> {
    await this.#outer.connection.query(`${command} ${this.#name}`);
  }
}

function alreadyBegun(): TransactionError {
  const what = 'A nested transaction was begun on a connection of an ORM where one was in progress';
  return new TransactionError('AMBIT_TX_NESTED', what);
}

/** Runs `work` so that it can fail alone: its statements are undone, and the transaction around it continues. */
export async function runInSavepoint<T>(
  outer: Transaction,
  work: () => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const savepoint = new Savepoint(outer);
  return savepoint.within(async () => {
    await savepoint.begin(options);
    try {
      const result = await work();
      await savepoint.release();
      return result;
    } catch (error) {
      await savepoint.undo(error);
      throw error;
    } finally {
      savepoint.end();
    }
  });
}

/**
 * @internal A nested run sends no BEGIN, so it refuses options for an isolation level, time limits or retries that differ from the outer
 * transaction's. If the database chose the outer level, that level is compared.
 */
export function refuseOtherOptions(
  outer: Pick<Transaction, 'settings' | 'connection' | 'isDeferred' | 'isolationSql'>,
  options: object,
): Promise<void> | undefined {
  const { beginOptions, database, signal } = outer.settings;
  const same: Readonly<Record<string, unknown>> = { ...beginOptions, ...database, signal };
  let chosen: unknown;
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === same[name]) continue;
    if (name !== 'isolation' || beginOptions.isolation !== undefined || !isIsolation(value)) throw otherOption(name);
    chosen = value;
  }
  return chosen === undefined ? undefined : compareIsolation(outer, chosen);
}

async function compareIsolation(
  outer: Pick<Transaction, 'connection' | 'isDeferred' | 'isolationSql'>,
  asked: unknown,
): Promise<void> {
  // Only a connection knows whether the transaction has begun.
  if (outer.isDeferred) await outer.connection.query('SELECT 1');
  const { isolationSql } = outer;
  const [row] = isolationSql ? await outer.connection.query<{ isolation: string }>(isolationSql, [asked]) : [];
  if (row?.isolation === asked) return;
  const level = row ? `at ${row.isolation}` : 'at a level that its pool cannot name';
  throw otherOption('isolation', `: it runs ${level}, and ${String(asked)} was asked for`);
}

function otherOption(name: string, reason = ''): TransactionError {
  return new TransactionError(
    'AMBIT_TX_NESTED',
    `A nested run cannot change ${name} of the transaction around it${reason}`,
  );
}
