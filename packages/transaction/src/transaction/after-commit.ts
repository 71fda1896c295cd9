import type { IContainer } from '@ambit/container';
import { systemClock } from '../core/clock.js';
import { type DatabaseKeys, MAIN_DATABASE } from '../core/database-keys.js';
import { checkFunction } from '../core/options.js';
import { warn } from '../core/errors.js';
import { type AfterCommitOptions, callAndReport } from './callbacks.js';
import { requireMember, transactionOf, transactionOfAllWork } from './transaction-of.js';
import { disposeAfter } from './scope-lifetime.js';

const WITHOUT_TRANSACTION = { clock: systemClock, endTimeoutMs: 10_000, onError: warn };

/**
 * For code that knows only its scope: calls `fn` when the transaction of the scope has committed, like its `afterCommit()`.
 * The scope may also be the one that the transaction began in, such as that of a request. Where there is no such transaction,
 * what was written is stored already, and `fn` is called at once; so it is in a `not-supported` run, whatever is open around it.
 * Where a host has begun one for the request and it was rolled back, `fn` is refused.
 *
 * @param scope - the scope that the work is done in
 * @param fn - its failure goes to `onError` of the transaction, or without one to a process warning, and never to the caller
 * @param options - whether the commit waits for it, and which of several databases it is about, by the key of its connection
 * @throws `TransactionError` `AMBIT_TX_FINISHED`: the transaction has been rolled back, or its outcome is unknown
 * @throws `TransactionError` `AMBIT_TX_AMBIGUOUS`: the scope is in no transaction, and several are open that began in it
 * @throws `TransactionError` `AMBIT_TX_NESTED`: code outside of the nested run in progress registers it
 * @throws `TransactionError` `AMBIT_TX_VERSION`: an older copy of this package has begun the transaction
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { afterCommit, type IConnection } from '@ambit/transaction';
 *
 * declare const mailer: { send(template: string, to: string): Promise<void> };
 *
 * async function register(scope: IContainer, email: string): Promise<void> {
 *   await scope.resolve<IConnection>('IConnection').query('INSERT INTO users (email) VALUES ($1)', [email]);
 *   afterCommit(scope, () => mailer.send('welcome', email));
 * }
 * ```
 */
export function afterCommit(
  scope: IContainer,
  fn: () => unknown,
  options: AfterCommitOptions & Pick<DatabaseKeys, 'connection'> = {},
): void {
  const { connection = MAIN_DATABASE.connection } = options;
  const transaction = transactionOf(scope, options) ?? transactionOfAllWork(scope, connection);
  if (transaction) return requireMember(transaction, 'afterCommit').afterCommit(fn, options);
  checkFunction('the callback', fn, { required: true });
  const calling = callAndReport(fn, WITHOUT_TRANSACTION);
  if (calling) disposeAfter(calling, scope);
}
