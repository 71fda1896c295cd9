/// <reference lib="esnext.disposable" preserve="true" />
import type { IDatabasePool } from '../contract.js';
import { checkedPool } from './checked-pool.js';
import { Contexts, Rules } from './rules.js';
import { type Finding, Findings, ServiceKeys, TransactionCheckError } from './finding.js';
import { followHttp } from './http-client.js';
import { settingsOf, type TransactionCheckOptions } from './options.js';

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
  /** Stops checking: the pool works on. */
  stop(): void;
}

/**
 * Checks, in development and in tests, what code does while a transaction is open: a statement outside of it, a second
 * connection, an HTTP request, a gap without a statement, and the same statement again and again. Each finding has the line of
 * code, the route and the key of the service. docs/guides/transaction-check.md explains them.
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
  const active = settings.enabled ? activeCheck() : undefined;
  return {
    get findings() {
      return findings.all;
    },
    pool: (pool) => (active ? checkedPool(pool, active.rules, settings.clock) : pool),
    assertNone: () => {
      const found = findings.all;
      findings.clear();
      if (found.length > 0) throw new TransactionCheckError(found);
    },
    stop: () => active?.stop(),
    [Symbol.dispose]: () => active?.stop(),
  };

  function activeCheck(): { readonly rules: Rules; readonly stop: () => void } {
    const contexts = new Contexts();
    const keys = new ServiceKeys();
    const rules = new Rules(settings, contexts, keys, findings);
    const unfollow = followHttp(contexts, rules);
    return {
      rules,
      stop: () => {
        unfollow();
        keys.stop();
        contexts.stop();
      },
    };
  }
}
