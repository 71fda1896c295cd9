import type { IContainer, ServiceMap, Settings as ContainerSettings } from '@ambit/container';
import type { Clock } from './clock.js';
import type { BeginOptions, ExecuteOptions, IConnection, IDatabasePool } from './contract.js';
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
  /** The key of the pool that gives the connection. Default `IDatabasePool`. */
  readonly pool?: PoolKey;
  /** The key of its connection in its scope. Default `IConnection`. */
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
  const what = `${name} must be a key, not ${shown(key)}: another database needs the keys of its pool and of its connection`;
  throw new TransactionError('AMBIT_OPTION', what);
}

/** How a transaction begins, on which database, how long its steps may take, and who is notified of late failures. */
export interface TransactionOptions extends BeginOptions, DatabaseKeys {
  /**
   * When it takes a connection and sends BEGIN: at once (`now`), or with its first statement (`lazy`), which then waits for a connection.
   * Nothing is sent where there is no statement. Default: `now`; for a request whose body is still to come `lazy`, unless the pool has
   * `afterBegin`. With `lazy`, that must use the connection it receives: the one of the scope waits for it.
   */
  readonly begin?: 'now' | 'lazy';
  /** Aborts when nobody waits for the result any more. Until COMMIT is sent, that rolls back. */
  readonly signal?: AbortSignal;
  /** The longest wait for a connection. Default: what the pool says, but no longer than `timeoutMs`. */
  readonly acquireTimeoutMs?: number;
  /**
   * How long the transaction may be open before it is rolled back. In `runInTransaction()`: how long all attempts may take
   * together, including the waits for connections. Default 30 s; `Infinity` for no limit.
   */
  readonly timeoutMs?: number;
  /** The time that COMMIT, ROLLBACK and the disposal of the scope may take, each. Default 10 s. On SQLite: the disposal only. */
  readonly endTimeoutMs?: number;
  /** The time that a rollback waits for the statement in progress before it cancels it. Default 100 ms. On SQLite: BEGIN only. */
  readonly cancelAfterMs?: number;
  /**
   * Called with failures that change no outcome: a rollback that failed, a scope that failed to dispose, a callback after COMMIT
   * that failed. Default: a process warning. If `onError` itself throws or rejects, there is a process warning too.
   */
  readonly onError?: (error: TransactionError) => void;
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

const LEVELS: readonly unknown[] = ['read committed', 'repeatable read', 'serializable'];

/**
 * Only the options that have a value: `undefined`, as in `{ max: config.max }`, means the default like no option at all.
 *
 * @param options - what a caller passed
 * @returns a copy, to spread over the defaults
 */
export function given<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

/**
 * Checks an option of a package that extends this one.
 *
 * @param name - the name of the option, for the message
 * @param value - a number of milliseconds, `Infinity` for never, or undefined
 * @throws `TransactionError` `AMBIT_OPTION`: it is anything else
 */
export function checkTime(name: string, value: unknown): void {
  if (value === undefined || (typeof value === 'number' && value >= 0)) return;
  throw new TransactionError('AMBIT_OPTION', `${name} must be a number of milliseconds, not ${shown(value)}`);
}

/**
 * Checks an option of a package that extends this one.
 *
 * @param name - the name of the option, for the message
 * @param value - a whole number from `least` on, or undefined
 * @param least - the smallest number allowed
 * @throws `TransactionError` `AMBIT_OPTION`: it is anything else
 */
export function checkCount(name: string, value: unknown, least: number): void {
  if (value === undefined || (Number.isInteger(value) && (value as number) >= least)) return;
  throw new TransactionError('AMBIT_OPTION', `${name} must be a whole number from ${least} on, not ${shown(value)}`);
}

export function checkBoolean(name: string, value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return;
  throw new TransactionError('AMBIT_OPTION', `${name} must be true or false, not ${shown(value)}`);
}

/**
 * Checks an option of a package that extends this one.
 *
 * @param name - the name of the option, for the message
 * @param value - a function, or undefined
 * @param options - `required`: undefined is refused, too
 * @throws `TransactionError` `AMBIT_OPTION`: it is anything else
 */
export function checkFunction(name: string, value: unknown, { required = false } = {}): void {
  if (typeof value === 'function' || (value === undefined && !required)) return;
  throw new TransactionError('AMBIT_OPTION', `${name} must be a function, not ${shown(value)}`);
}

/**
 * Checks the option `clock`.
 *
 * @param clock - a `Clock`, or undefined
 * @throws `TransactionError` `AMBIT_OPTION`: it lacks a function of a `Clock`
 */
export function checkClock(clock: Partial<Clock> | undefined): void {
  if (clock === undefined) return;
  for (const name of ['now', 'setTimer', 'random'] as const)
    checkFunction(`clock.${name}`, clock[name], { required: true });
}

export function checkSignal(signal: Partial<AbortSignal> | null | undefined): void {
  if (signal === undefined || signal === null) return;
  if (typeof signal.aborted === 'boolean' && typeof signal.addEventListener === 'function') return;
  throw new TransactionError('AMBIT_OPTION', `signal must be an AbortSignal, not ${shown(signal)}`);
}

/**
 * Checks the options of `execute()`, for a database that does not number its types.
 *
 * @param options - what the caller of `execute()` passed
 * @returns whether rows are asked for as arrays
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 * @throws `TransactionError` `AMBIT_TX_UNSUPPORTED`: parsers by the number of a type
 */
export function wantsArrays(options: ExecuteOptions): boolean {
  checkExecuteOptions(options);
  if (options.types !== undefined) {
    const what = '`types` was passed to execute(), and this database does not number its types as PostgreSQL does';
    throw new TransactionError('AMBIT_TX_UNSUPPORTED', what);
  }
  return options.rowMode === 'array';
}

/**
 * Calls `start()` of a scope, for an option `start`.
 *
 * @param scope - the scope that was opened
 * @param caller - what the error names, such as `middleware()`
 * @returns resolves when the services of the scope are started
 * @throws `TransactionError` `AMBIT_OPTION`: its container has no `start()`. What that throws, as a rejection
 */
export function startServices(scope: IContainer, caller: string): Promise<void> {
  const { start } = scope as { start?: () => Promise<void> };
  if (start) return start.call(scope);
  throw new TransactionError('AMBIT_OPTION', `start: true of ${caller} needs a container that has a method start()`);
}

/** For `execute()`: a driver would ignore what it does not know, or fail where nothing catches it. */
export function checkExecuteOptions({ rowMode, types }: ExecuteOptions): void {
  if (rowMode !== undefined && rowMode !== 'object' && rowMode !== 'array') {
    throw new TransactionError('AMBIT_OPTION', `rowMode must be 'object' or 'array', not ${shown(rowMode)}`);
  }
  if (types === undefined || typeof types?.getTypeParser === 'function') return;
  throw new TransactionError('AMBIT_OPTION', 'types must have a function getTypeParser');
}

/** The text for a value in a message. Messages may reach clients, so an object or an array is named by its kind only. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

export function isIsolation(value: unknown): boolean {
  return LEVELS.includes(value);
}

export function checkIsolation(isolation: unknown): void {
  checkOneOf('isolation', isolation, LEVELS);
}

export function checkOneOf(name: string, value: unknown, values: readonly unknown[]): void {
  if (value === undefined || values.includes(value)) return;
  throw new TransactionError('AMBIT_OPTION', `${name} must be one of ${values.join(', ')}, not ${shown(value)}`);
}

const POOL =
  "register a pool as a singleton of the application, such as createPostgresPool(), createSqlitePool(), or fromPgPool() over a pool of yours: Registration.fromFactory(() => createPostgresPool({ ... })).pipe(singleton()).to('IDatabasePool')";

/** Either the route has no transaction, or it has one and asks the scope of the request: only a child scope sees the transaction. */
const IN_ITS_SCOPE =
  'put withTransaction() on the route (on Fastify { config: { transaction: true } }, in NestJS @Transactional()), or call runInTransaction(). Where that is done, resolve it from the scope of the transaction, requireTransactionScope(): request.container and c.var.container stay outside of it';

/** The messages for a missing key. A registration of the connection would be the wrong advice: transactions do that. */
const MISSING: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  [MAIN_DATABASE.pool, { resolve: POOL, verify: POOL }],
  // A service for scopes with this tag.
  ["'transaction'", { tag: IN_ITS_SCOPE }],
  [
    MAIN_DATABASE.connection,
    {
      resolve: `${IN_ITS_SCOPE}; after the response the transaction has completed`,
      'resolve disposed':
        'the transaction has completed: at COMMIT or ROLLBACK, at the latest with the response. Await all of its work before that, or begin another one with runInTransaction() and a scope that is open',
      requires: MAIN_DATABASE.pool,
      escape: 'what % writes stays when the transaction of & rolls back',
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
