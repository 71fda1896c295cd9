import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { transactionOfConnection } from '../target.js';
import { type AdapterFactory, pooled } from './adapter.js';
import { type PrismaClientLike, type TransactionClient, transactionClient } from './client.js';

export type { AdapterFactory } from './adapter.js';
export type { PrismaClientLike, TransactionClient } from './client.js';

/**
 * What `PrismaClient` takes as `adapter`, so that it opens no connections of its own: queries outside of transactions go to
 * `pool`. It begins no transaction but through `prismaOn()`; the container closes `pool`.
 *
 * @param adapter - a `PrismaPg` of `@prisma/adapter-pg`; what it says of the server is not used
 * @param pool - a pool for PostgreSQL
 * @returns the option `adapter` of a `PrismaClient`
 * @throws `TransactionError` `AMBIT_OPTION`: an adapter of another database
 *
 * @example
 * ```ts
 * import type { IDatabasePool } from '@ambit/transaction';
 * import { type AdapterFactory, prismaAdapter } from '@ambit/orm/prisma';
 *
 * // new PrismaClient({ adapter: adapterOver(pool, new PrismaPg({})) })
 * const adapterOver = (pool: IDatabasePool, prismaPg: AdapterFactory) => prismaAdapter(prismaPg, pool);
 * ```
 */
export function prismaAdapter<A extends AdapterFactory>(adapter: A, pool: IDatabasePool): A {
  return pooled(adapter, pool);
}

/**
 * Prisma on the connection of a transaction scope: its queries are statements of that transaction. `$transaction()` is a
 * nested run in it, like `runInTransaction()` in a transaction scope. Nothing that Prisma does can commit; after the
 * transaction has completed, every query rejects.
 *
 * @param connection - the `IConnection` of a transaction scope
 * @param prisma - one client for the application, with the adapter of `prismaAdapter()`
 * @returns a client for this transaction, cheap enough to create per transaction; it needs no `$disconnect()`
 * @throws `TransactionError` `AMBIT_OPTION`: `connection` is not that of a transaction scope
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { type PrismaClientLike, prismaOn, type TransactionClient } from '@ambit/orm/prisma';
 *
 * async function inOneTransaction<Client extends PrismaClientLike>(
 *   requestScope: IContainer,
 *   prisma: Client,
 *   work: (client: TransactionClient<Client>) => Promise<void>, // client.stock.update({ ... })
 * ): Promise<void> {
 *   await runInTransaction(requestScope, (scope) => work(prismaOn(scope.resolve<IConnection>('IConnection'), prisma)));
 * }
 * ```
 */
export function prismaOn<Client extends PrismaClientLike>(
  connection: IConnection,
  prisma: Client,
): TransactionClient<Client> {
  return transactionClient(transactionOfConnection(connection, 'prismaOn()'), prisma);
}
