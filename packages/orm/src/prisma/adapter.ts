import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type ExecuteOptions,
  type ExecuteResult,
  type IDatabasePool,
  type Transaction,
  TransactionError,
} from '@ambit/transaction';
import { executeOn, withinInnermostRun } from '@ambit/transaction/extension';
import { driverErrorOf } from '../errors.js';
import { ownTransaction } from '../target.js';

/** The members of a `PrismaPg` of `@prisma/adapter-pg`, which Prisma takes as `adapter`. */
export interface AdapterFactory {
  /** The database: `postgres`. */
  readonly provider: string;
  /** Makes an adapter, which sends the statements of a client. */
  connect(): Promise<object>;
}

/** A statement as `@prisma/adapter-pg` gives it to the driver `pg`. */
interface PgStatement extends Pick<ExecuteOptions, 'rowMode' | 'types'> {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface PrismaTransaction {
  readonly transaction: Transaction;
  /** Why a statement of Prisma failed. */
  failure: unknown;
}

/** Prisma begins a transaction without a word on whose it is: `prismaOn()` says so here. */
const beginning = new AsyncLocalStorage<PrismaTransaction>();

/** Does `begin` so that the transaction which Prisma begins in it is this one. */
export function beginAs<T>(transaction: PrismaTransaction, begin: () => T): T {
  return beginning.run(transaction, begin);
}

/**
 * Lets the adapters of `@prisma/adapter-pg`, which know how Prisma's values look in PostgreSQL, send their statements through
 * connections of ours. Only this file uses their private field `client`. Checked with Prisma 7.9.1.
 */
export function pooled<A extends AdapterFactory>(adapters: A, pool: IDatabasePool): A {
  // Those of Prisma 5 are adapters themselves, and Prisma 5 has no other client without a connection of its own.
  if (adapters.provider !== 'postgres' || typeof adapters.connect !== 'function') {
    throw new TransactionError(
      'AMBIT_OPTION',
      'prismaAdapter() takes a PrismaPg of @prisma/adapter-pg, from version 6.16 on',
    );
  }
  const client = { query: (statement: PgStatement) => run(statement, (...query) => executeOn(pool, ...query)) };
  return Object.assign(Object.create(adapters) as A, {
    async connect(): Promise<object> {
      const adapter = await adapters.connect();
      return Object.assign(adapter, {
        client,
        startTransaction: async () => {
          const state = beginning.getStore();
          if (!state) throw ownTransaction('Prisma', 'prismaOn');
          return adapterIn(state, adapter);
        },
      });
    },
  });
}

function adapterIn(state: PrismaTransaction, adapter: object): object {
  const { connection } = state.transaction;
  const send = async (statement: PgStatement): Promise<ExecuteResult> => {
    try {
      return await run(statement, (...sent) => connection.execute(...sent));
    } catch (error) {
      state.failure = error;
      throw error;
    }
  };
  // Prisma sends what several callers ask in one tick together, so it is not known whose statement this is.
  const query = (statement: PgStatement): Promise<ExecuteResult> =>
    withinInnermostRun(state.transaction, () => send(statement));
  return Object.assign(Object.create(adapter), {
    client: { query },
    // Then Prisma sends neither COMMIT nor ROLLBACK, but calls these.
    options: { usePhantomQuery: true },
    commit: () => Promise.resolve(),
    rollback: () => Promise.resolve(),
  });
}

async function run<T>(
  { text, values, rowMode, types }: PgStatement,
  execute: (sql: string, params: readonly unknown[] | undefined, options: ExecuteOptions) => Promise<T>,
): Promise<T> {
  try {
    return await execute(text, values, { ...(rowMode && { rowMode }), ...(types && { types }) });
  } catch (error) {
    throw driverErrorOf(error);
  }
}
