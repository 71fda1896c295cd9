import { inspect } from 'node:util';
import type { ServiceMap, Settings as ContainerSettings } from '@ambit/container';
import type { IConnection, IDatabasePool } from './contract.js';
import { TransactionError } from './errors.js';

/** The keys of `ServiceMap` whose service is a `T`. */
type KeyOf<T> = { [K in keyof ServiceMap]: ServiceMap[K] extends T ? K : never }[keyof ServiceMap] & string;

/** With the container's `strictKeys`, only keys that `ServiceMap` lists; without, any others too. */
type UnlistedKey = ContainerSettings extends { strictKeys: true } ? never : string & {};

/** A key under which `ServiceMap` lists a pool. */
export type PoolKey = KeyOf<IDatabasePool> | UnlistedKey;

/** A key under which `ServiceMap` lists a connection. */
export type ConnectionKey = KeyOf<IConnection> | UnlistedKey;

/** Which of several databases: both keys, or neither for the application's main database. */
export interface DatabaseKeys {
  /** Where the transaction gets its connection. Default `IDatabasePool`. */
  readonly pool?: PoolKey;
  /** What its connection is registered as in its scope. Default `IConnection`. */
  readonly connection?: ConnectionKey;
}

/** The main database: the only place that knows these keys. */
export const MAIN_DATABASE = { pool: 'IDatabasePool', connection: 'IConnection' } as const;

/** The keys, checked. One of them alone would hand the statements of one database to the other. */
export function readKeys({ pool, connection }: DatabaseKeys): Required<DatabaseKeys> {
  if (pool === undefined && connection === undefined) return MAIN_DATABASE;
  checkKey('pool', pool);
  checkKey('connection', connection);
  return { pool: pool as PoolKey, connection: connection as ConnectionKey };
}

function checkKey(name: string, key: unknown): void {
  if (typeof key === 'string' && key !== '') return;
  const what = `${name} must be a key, not ${inspect(key)}: another database needs the keys of its pool and of its connection`;
  throw new TransactionError('AMBIT_TX_OPTION', what);
}

const POOL =
  "register a pool as a singleton of the application, such as createPostgresPool(), createSqlitePool(), or fromPgPool() over a pool of yours: Registration.fromFactory(() => createPostgresPool({ ... })).pipe(singleton()).to('IDatabasePool')";

/** What the container says where a key is missing. A registration of the connection would be the wrong advice: transactions do that. */
const MISSING: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  [MAIN_DATABASE.pool, { resolve: POOL, verify: POOL }],
  [
    MAIN_DATABASE.connection,
    {
      resolve:
        'open a transaction: put withTransaction() on the route (on Fastify { config: { transaction: true } }), or call runInTransaction(), and resolve it from the scope of the transaction; after the response the transaction has completed',
      'resolve disposed':
        'the transaction has completed: at COMMIT or ROLLBACK, at the latest with the response. Await all of its work before that, or begin another one with runInTransaction() and a scope that is open',
      requires: MAIN_DATABASE.pool,
      verify:
        "a transaction registers it on its scope; declare that scope: { tags: ['transaction'], registers: ['IConnection'] }",
    },
  ],
];

// The container looks here, so that it knows nothing of databases.
const HINTS = Symbol.for('@ambit/hints');
const shared = globalThis as { [HINTS]?: Map<string, object> };
shared[HINTS] ??= new Map<string, object>();
for (const [key, hint] of MISSING) shared[HINTS].set(key, hint);
