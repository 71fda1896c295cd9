/// <reference lib="esnext.disposable" preserve="true" />
import type { IDatabasePool } from '../contract.js';
import { TransactionError } from '../errors.js';
import { type CheckedBy, checkedPool } from './checked-pool.js';
import { Contexts, Rules } from './rules.js';
import { type Finding, Findings, ServiceKeys, TransactionCheckError } from './finding.js';
import { effectBegins, followSockets } from './effects.js';
import { followRequests } from './requests.js';
import { Plans } from './plans.js';
import { Recorder } from './recorder.js';
import { settingsOf, type TransactionCheckOptions } from './options.js';
import { Trail } from './trail.js';

/** A check that runs until it is stopped. `using` stops it at the end of a block. */
export interface TransactionCheck extends Disposable {
  /** The findings so far: each place once, with a count. */
  readonly findings: readonly Finding[];
  /**
   * Returns the pool with the check around it, to register as `IDatabasePool`. Of several pools around one another, it is the
   * outermost. Where the check is not enabled, it is the pool itself.
   *
   * @param pool - the pool of the application
   * @returns a pool with the same members; `getConnection()`, `query()` and `execute()` are checked
   */
  pool<P extends IDatabasePool>(pool: P): P;
  /**
   * Throws one error with all findings, if there are any, and forgets them: for the end of a test.
   *
   * @throws `TransactionCheckError` `AMBIT_TX_CHECK`: something was found
   */
  assertNone(): void;
  /**
   * Runs a piece of work, such as a request of a test, and counts the statements that the pools of this check run meanwhile: all of
   * them, so that only one such piece can be counted at a time.
   *
   * @param most - how many statements it may run; savepoints do not count
   * @param work - the piece of work
   * @returns what the work returns
   * @throws `TransactionCheckError` `AMBIT_TX_CHECK`: there were more; the message has each by its text, the most frequent first, with its line
   * @throws `TransactionError` `AMBIT_OPTION`: the check is not enabled, so that it would count none
   * @throws what the work throws
   *
   * @example
   * ```ts
   * import { transactionCheck } from '@ambit/transaction/check';
   *
   * const check = transactionCheck();
   * const listOrders = async (): Promise<number> => (await fetch('http://localhost:3000/orders')).status;
   * const status = await check.expectStatements(2, listOrders);
   * ```
   */
  expectStatements<T>(most: number, work: () => T | PromiseLike<T>): Promise<T>;
  /** Stops checking: the pool works on. */
  stop(): void;
}

/**
 * Checks, in development and in tests, what code does while a transaction is open: a statement outside of it, a second
 * connection, what a rollback does not undo (an HTTP request, data on another connection, a file, a child process), a gap without a
 * statement, and the same statement again and again. Each finding has the line of code, the route and the key of the service.
 * docs/guides/transaction-check.md explains them.
 *
 * @param options - what happens to a finding, the limits, and what is allowed
 * @returns the check; its `pool()` must be given the application's pool
 * @throws `TransactionError` `AMBIT_OPTION`: an option is invalid
 *
 * @example
 * ```ts
 * import { lifetimes } from '@ambit/container';
 * import { transactionCheck } from '@ambit/transaction/check';
 * import { createPostgresPool } from '@ambit/transaction/postgres';
 *
 * const check = transactionCheck({ report: ({ message }) => console.warn(message) });
 * const { make, build } = lifetimes('application', 'request', 'transaction');
 * const graph = build({ IDatabasePool: make('application', () => check.pool(createPostgresPool())) });
 * ```
 */
export function transactionCheck(options: TransactionCheckOptions = {}): TransactionCheck {
  const settings = settingsOf(options);
  const findings = new Findings(settings);
  // `ambit check` sets it while it runs a test suite.
  const { RECORD_TRANSACTIONS_TO: folder, RECORD_TRANSACTION_PLANS: plans } = process.env;
  const active = settings.enabled || folder ? activeCheck(folder ? new Recorder(folder) : undefined) : undefined;
  return {
    get findings() {
      return findings.all;
    },
    pool: (pool) => (active ? checkedPool(pool, active.by) : pool),
    assertNone: () => {
      const found = findings.all;
      findings.clear();
      if (found.length > 0) throw new TransactionCheckError(found);
    },
    expectStatements: async (most, work) => {
      if (!active || !settings.enabled)
        throw new TransactionError('AMBIT_OPTION', 'expectStatements() needs a check that is enabled');
      return active.by.rules.expectStatements(most, work);
    },
    stop: () => active?.stop(),
    [Symbol.dispose]: () => active?.stop(),
  };

  function activeCheck(recorder: Recorder | undefined): { readonly by: CheckedBy; readonly stop: () => void } {
    const contexts = new Contexts();
    const keys = new ServiceKeys();
    const trail = new Trail(contexts, (type, stack) => effectBegins(rules, type, stack));
    const rules = new Rules(settings, contexts, keys, findings, trail, recorder);
    const stops = [followRequests(contexts, rules, recorder), followSockets(contexts, rules), () => trail.stop()];
    return {
      by: { rules, contexts, clock: settings.clock, plans: recorder && plans ? new Plans(recorder) : undefined },
      stop: () => {
        for (const stop of stops) stop();
        keys.stop();
        contexts.stop();
      },
    };
  }
}
