import type { Kysely } from 'kysely';
import { TransactionError } from '../core/errors.js';
import type { Transaction } from '../transaction/transaction.js';
import type { NestedOptions, TransactionalConnection } from './orm.js';

/** What MikroORM passes around as "the transaction": Kysely, and the calls that would begin or complete it. */
export type TransactionContext = Kysely<unknown> & { readonly [OWNER]: Transaction };

const OWNER = Symbol('ambit.transaction');
const ADAPTED = Symbol('ambit.adapted');

interface AdaptedConnection extends TransactionalConnection {
  [ADAPTED]?: true;
}

export function contextIn(transaction: Transaction, kysely: Kysely<unknown>): TransactionContext {
  return Object.assign(kysely, {
    [OWNER]: transaction,
    commit: () => refused('commit'),
    rollback: () => refused('rollback'),
    savepoint: () => refused('begin'),
  });
}

/**
 * Replaces two methods of the connection that all entity managers of a MikroORM share, once per MikroORM. Checked with
 * MikroORM 7.2.1.
 *
 * `em.transactional()` in a transaction scope becomes a nested run. MikroORM's own way, three calls, has no place for the code
 * of the run, so its statements on the `IConnection` would be refused.
 *
 * A MikroORM that connects in its first transaction would look for its database first, and wait there for a second connection.
 */
export function adapt(connection: AdaptedConnection): void {
  if (connection[ADAPTED]) return;
  connection[ADAPTED] = true;
  const transactional = connection.transactional.bind(connection);
  connection.transactional = (work, options = {}) => {
    const transaction = (options.ctx as TransactionContext | undefined)?.[OWNER];
    return transaction
      ? transaction.runNested(() => work(options.ctx), termsOf(options))
      : transactional(work, options);
  };
  const connect = connection.connect.bind(connection);
  connection.connect = () => connect({ skipOnConnect: true });
}

/** A nested run may repeat these of the transaction, and refuses any other. */
function termsOf({ isolationLevel: isolation, readOnly }: NestedOptions): object {
  return { isolation, readOnly };
}

function refused(method: string): never {
  const what = `em.${method}() was called in a transaction scope. A nested transaction is em.transactional()`;
  throw new TransactionError('AMBIT_TX_CONTROL_STATEMENT', what);
}
