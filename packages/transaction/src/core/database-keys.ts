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
