import { kyselyIn } from '../kysely/kysely-in.js';
import { driverErrorOf } from '../orm/errors.js';
import type { Transaction } from '../transaction/transaction.js';
import { dialectOf } from './dialect.js';
import { contextIn, adapt } from './context.js';
import type { MikroEntityManager, MikroOrm, TransactionalConnection } from './orm.js';
import { OPTIONS } from './types.js';

/** The unit of work of one transaction. */
export function entityManagerIn<EM extends MikroEntityManager>(transaction: Transaction, orm: MikroOrm<EM>): EM {
  const connection = orm.em.getConnection() as TransactionalConnection;
  const dialect = dialectOf(connection.getClient());
  adapt(connection);
  const em = orm.em.fork();
  const kysely = kyselyIn(transaction, { dialect, options: OPTIONS[dialect], errorOf: driverErrorOf });
  em.setTransactionContext(contextIn(transaction, kysely) as never);
  transaction.onWhole('beforeCommit', () => em.flush());
  return em;
}
