import type { IContainer } from '@ambit/container';
import { type DatabaseKeys, MAIN_DATABASE } from '../core/database-keys.js';
import { TransactionError } from '../core/errors.js';
import { begunIn } from './begun.js';
import { TRANSACTION } from './scoped-connection.js';
import type { Transaction } from './transaction.js';

/** A transaction scope, or its `IConnection`. */
interface OfTransaction {
  [TRANSACTION]?: Transaction;
}

/** `IContainer` does not require `parent`. */
type Scope = OfTransaction & { readonly parent?: unknown };

/**
 * The transaction that `scope` is in, open or completed: its own, or that of an ancestor. Also while the scope is disposed
 * and after that; for a scope below it in a container without a `parent` property, only before.
 *
 * For a scope that is in none, such as that of a request: the transaction that began in it, until its `commit()` or
 * `rollback()` resolves.
 *
 * @param scope - any scope
 * @param options - which of several databases, by the key of its connection. Default: the main one, `IConnection`.
 * @returns the transaction, or undefined where the scope is in none on that database, and none is open that began in it
 * @throws `TransactionError` `AMBIT_TX_AMBIGUOUS`: several are open that began in the scope
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { transactionOf } from '@ambit/transaction';
 *
 * function notifyAfterCommit(scope: IContainer, notify: () => void): void {
 *   scope.defer?.(() => {
 *     if (transactionOf(scope)?.state === 'committed') notify();
 *   });
 * }
 * ```
 */
export function transactionOf(
  scope: IContainer,
  { connection = MAIN_DATABASE.connection }: Pick<DatabaseKeys, 'connection'> = {},
): Transaction | undefined {
  return transactionAround(scope, connection) ?? (begunIn(scope, connection) as Transaction | undefined);
}

/** The transaction that the scope is in, and not one that began in it. */
export function transactionAround(scope: IContainer, connection: string): Transaction | undefined {
  return find(scope, connection);
}

/** The transaction that one on this database would wait for: it is on the same pool, or registered under the same key. */
export function transactionOnSame(scope: IContainer, keys: Required<DatabaseKeys>): Transaction | undefined {
  return find(scope, keys.connection, keys.pool);
}

function find(scope: IContainer, connection: string, pool?: string): Transaction | undefined {
  for (let at: Scope | undefined = scope as Scope; at; at = at.parent as Scope | undefined) {
    const transaction = at[TRANSACTION];
    if (!transaction) continue;
    const { database } = transaction.settings;
    if (database.connection === connection || database.pool === pool) return transaction;
  }
  return 'parent' in scope ? undefined : transactionOfConnection(scope, connection);
}

function transactionOfConnection(scope: IContainer, key: string): Transaction | undefined {
  // Cheaper than the error of resolve(), but a container need not have it.
  if (scope.has?.(key) === false) return undefined;
  try {
    return scope.resolve<OfTransaction | undefined>(key)?.[TRANSACTION];
  } catch {
    return undefined;
  }
}

/** Another copy of this package may have begun the transaction, and may be older. */
export function requireMember(transaction: Transaction, name: keyof Transaction): Transaction {
  if (name in transaction) return transaction;
  const what = `The transaction was begun by an older copy of @ambit/transaction, which has no ${name}`;
  throw new TransactionError('AMBIT_TX_VERSION', what);
}
