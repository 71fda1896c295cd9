import {
  type ClientConfigurationInput,
  type CommonQueryMethods,
  createPool,
  createTypeParserPreset,
  type DatabasePool,
} from 'slonik';
import type { IConnection, IDatabasePool } from '@ambit/transaction';
import { withStackOf } from '../errors.js';
import { type Target, targetOf } from '../target.js';
import { beginNested, driverOn } from './driver.js';

/** What `createPool()` of slonik takes, without what concerns connections, time limits and retries, which are the transaction's. */
export type SlonikOptions = Pick<
  ClientConfigurationInput,
  Extract<
    // Older versions of slonik lack some of them.
    keyof ClientConfigurationInput,
    'captureStackTrace' | 'dangerouslyAllowForeignConnections' | 'interceptors' | 'poolName' | 'tracing' | 'typeParsers'
  >
>;

/** The methods of slonik's pool that send queries. */
export type SlonikMethods = CommonQueryMethods & Pick<DatabasePool, 'connect'>;

/** Its clients hold no connection, so that none of them waits for another. */
const MANY = Number.MAX_SAFE_INTEGER;

/** One array for all, because what belongs to it is kept. */
const TYPE_PARSERS = createTypeParserPreset();

const METHODS = [
  'any',
  'anyFirst',
  'exists',
  'many',
  'manyFirst',
  'maybeOne',
  'maybeOneFirst',
  'one',
  'oneFirst',
  'query',
  'record',
  'stream',
] as const satisfies readonly (keyof SlonikMethods)[];

/** The connection is there already; a query that failed in a transaction cannot be sent again, and the whole is retried by ours. */
async function poolOn(
  target: Target,
  { typeParsers = TYPE_PARSERS, ...options }: SlonikOptions,
): Promise<DatabasePool> {
  return createPool('postgresql://', {
    ...options,
    typeParsers,
    driverFactory: driverOn(target),
    idleTimeout: 'DISABLE_TIMEOUT',
    maximumConnectionAge: 'DISABLE_TIMEOUT',
    maxPoolSize: MANY,
    // oxlint-disable-next-line typescript/no-deprecated -- its name before slonik 49
    maximumPoolSize: MANY,
    queryRetryLimit: 0,
    resetConnection: () => Promise.resolve(),
    transactionRetryLimit: 0,
  });
}

/**
 * Slonik on the connection of a transaction scope: its queries are statements of that transaction, through a driver that is made with slonik's
 * `createDriverFactory()`. Interceptors, type parsers, schemas and slonik's classes of errors work as with `createPool()`. `transaction()` is
 * a nested run, like `runInTransaction()` in a transaction scope. Nothing of slonik can commit; after the transaction has completed, every
 * query rejects with `AMBIT_TX_FINISHED`.
 *
 * On a pool, such as `IDatabasePool`: each query runs by itself, outside of transactions, and `transaction()` is refused:
 * `runInTransaction()` begins transactions.
 *
 * @param database - the `IConnection` of a transaction scope, or a pool, on PostgreSQL
 * @param options - interceptors, type parsers and others of slonik's; pass the same array of `typeParsers` each time
 * @returns slonik's methods, cheap enough to create per transaction; they need no `end()`
 * @throws `TransactionError` `AMBIT_OPTION`: `database` is neither
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import { type IConnection, runInTransaction } from '@ambit/transaction';
 * import { slonikOn } from '@ambit/orm/slonik';
 * import { sql } from 'slonik';
 *
 * async function take(requestScope: IContainer, product: string): Promise<void> {
 *   await runInTransaction(requestScope, async (scope) => {
 *     const slonik = slonikOn(scope.resolve<IConnection>('IConnection'));
 *     await slonik.query(sql.unsafe`UPDATE stock SET level = level - 1 WHERE product = ${product}`);
 *   });
 * }
 * ```
 */
export function slonikOn(database: IConnection | IDatabasePool, options: SlonikOptions = {}): SlonikMethods {
  const target = targetOf(database, 'slonikOn()');
  let opened: Promise<DatabasePool> | undefined;
  const pool = (): Promise<DatabasePool> => (opened ??= poolOn(target, options));

  const methods = METHODS.map((name) => {
    const method = async (...args: never[]): Promise<unknown> => {
      const written = { stack: '' };
      Error.captureStackTrace(written, method);
      try {
        return await ((await pool())[name] as (...given: never[]) => Promise<unknown>)(...args);
      } catch (error) {
        throw withStackOf(written, error);
      }
    };
    return [name, method];
  });
  const transaction: SlonikMethods['transaction'] = async (...args) => nestedOf(await pool())(...args);
  const connect: SlonikMethods['connect'] = async (routine) =>
    (await pool()).connect((connection) =>
      // Slonik replaces the methods of its own object when the connection is released.
      routine(Object.create(connection, { transaction: { value: nestedOf(connection) } }) as typeof connection),
    );
  return { ...Object.fromEntries(methods), transaction, connect } as SlonikMethods;
}

/** A transaction of slonik, whose code becomes part of the nested run. */
function nestedOf(owner: Pick<CommonQueryMethods, 'transaction'>): CommonQueryMethods['transaction'] {
  return (handler, retries) =>
    beginNested((within) => owner.transaction((connection) => within(() => handler(connection)), retries));
}
