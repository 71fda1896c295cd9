import type { IContainer } from '@ambit/container';
import {
  type IDatabasePool,
  runInTransaction,
  type RunOptions,
  TransactionError,
  type Transaction,
  transactionOf,
  type Work,
} from '@ambit/transaction';
import { checkFunction, checkSchema, deferOn, runScript, type StandardSchema } from '@ambit/transaction/extension';
import type { KeyTable } from '@ambit/transaction/databases';
import { IdempotencyError } from './error.js';
import { Expiry } from './expiry.js';
import { type IdempotentRequest, type KeyRules, readKey, type StoredKey } from './key.js';
import { type IdempotencyTable, tableOf } from './schema.js';
import { Store } from './store.js';

/** Which table, for how long, and where clients read about keys. */
export interface IdempotencyOptions extends IdempotencyTable {
  /** For how long a key and its response are kept. Afterwards the key counts as new. Default 24 h. */
  readonly lifetimeMs?: number;
  /** The address of the page that tells your clients about keys. Each refusal links to it. */
  readonly documentation?: string;
  /**
   * A schema for keys, of zod, valibot, arktype or another library of Standard Schema, such as `z.uuid()`. It gets the key without quotes,
   * the key that it returns is used, and a key that does not fit is refused. Default: any key.
   */
  readonly key?: StandardSchema<unknown, string>;
  /** Called when expired keys could not be removed; the next attempt is in an hour. Default: a process warning. */
  readonly onError?: (error: unknown) => void;
}

/** What the work responds with: it is stored with the key. */
export interface NewResponse<T> {
  /** From 200 to 499. What fails is thrown instead: nothing is stored, and a repetition does the work. */
  readonly status: number;
  /** Those that a repetition is to get, too, such as `location`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Anything that `JSON.stringify()` can write, at most 1 MiB of it. */
  readonly body: T;
}

/** The response to send: that of the work, or the stored one of the first request. */
export interface IdempotentResponse<T> {
  /** The status of the first response. */
  readonly status: number;
  /** Those of the first response, and `idempotency-replayed: true` with a repetition. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the work returned; with a repetition what `JSON.parse()` makes of it. */
  readonly body: T;
  /** The work was done before, by an earlier request. */
  readonly replayed: boolean;
}

/** The transaction of the work, where none is open yet. */
export type RespondOptions = Omit<RunOptions, 'propagation'>;

const DAY_MS = 86_400_000;

/** Also in another copy of this package: which request a transaction stores the response of. */
const RESPONDS_TO: unique symbol = Symbol.for('@ambit/idempotency');

interface RespondingTransaction {
  [RESPONDS_TO]?: object;
}

/** What containers have besides `IContainer`. */
interface Tagged {
  readonly parent?: unknown;
  hasTag?(tag: string): boolean;
}

/** The scope of the request around a scope; undefined for work that no request began. */
function requestOf(scope: IContainer): object | undefined {
  for (let at = scope as Tagged | undefined; at; at = at.parent as Tagged | undefined)
    if (at.hasTag?.('request')) return at;
  return undefined;
}

function usedTwice(what: string): TransactionError {
  return new TransactionError('AMBIT_TX_ALREADY_OPEN', what);
}

/** The keys that are in use in this process, and those that a request has used. */
class Keys {
  /** Each with its request, where there is one. */
  readonly #locked = new Map<string, object | undefined>();
  readonly #used = new WeakMap<object, Set<string>>();

  lock(key: string, request: object | undefined): 'locked' | 'running' {
    if (request && (this.#used.get(request)?.has(key) || this.#locked.get(key) === request))
      throw usedTwice('One request used its idempotency key twice: respond() is for all work of the request together');
    if (this.#locked.has(key)) return 'running';
    this.#locked.set(key, request);
    return 'locked';
  }

  release(key: string): void {
    this.#locked.delete(key);
  }

  markUsed(key: string, request: object | undefined): void {
    if (!request) return;
    const used = this.#used.get(request);
    if (used) used.add(key);
    else this.#used.set(request, new Set([key]));
  }
}

/** @internal What all requests share. */
interface Shared {
  readonly store: Store;
  readonly keys: Keys;
  readonly lifetimeMs: number;
  readonly rules: KeyRules;
}

/**
 * A request whose key no other request of this process can use, until its transaction has completed. Made by `lock()` of
 * `Idempotency`.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import type { LockedRequest } from '@ambit/idempotency';
 *
 * declare function place(scope: IContainer): Promise<{ id: string }>;
 *
 * async function respond(locked: LockedRequest, transactionScope: IContainer) {
 *   return locked.respond(transactionScope, async (scope) => ({ status: 201, body: await place(scope) }));
 * }
 * ```
 */
export class LockedRequest {
  readonly #shared: Shared;
  readonly #stored: StoredKey | undefined;
  readonly #request: object | undefined;
  #isLocked = false;

  /** @internal Call `lock()` of `Idempotency` instead. */
  constructor(shared: Shared, scope: IContainer, stored: StoredKey | undefined) {
    this.#shared = shared;
    this.#stored = stored;
    this.#request = stored && requestOf(scope);
    this.#lock();
  }

  /**
   * Does the work in the transaction of the scope, or in one of its own where none is open, and stores its response there; or
   * gives the response that the first request with this key has stored.
   *
   * @param scope - that of the transaction; or that of the request, where its transaction is to begin now
   * @param work - receives the scope of the transaction. It is not called for a repetition
   * @param options - of a transaction that begins now
   * @returns the response to send, once it is committed; in a transaction that was open before, its commit is still to come
   * @throws `IdempotencyError`: another request with this key is running, or the key was used for another request
   * @throws `TransactionError` `AMBIT_TX_PARAMETER`: the response cannot be stored, such as a stream, or more than 1 MiB
   * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: the transaction stores another response already, or `scope` is that of a
   *   request whose transaction is open
   * @throws what the work, and `runInTransaction()`, throw
   */
  async respond<T>(
    scope: IContainer,
    work: Work<NewResponse<T>>,
    options: RespondOptions = {},
  ): Promise<IdempotentResponse<T>> {
    const stored = this.#stored;
    let isAttached = false;
    try {
      return await runInTransaction(
        scope,
        (inner, attempt) => {
          const doWork = (): Promise<NewResponse<T>> => work(inner, attempt);
          if (!stored) return doWork().then(asResponse);
          // It is that of `inner`, whichever of several databases this is.
          const transaction = transactionOf(inner, options) as Transaction;
          deferOn(transaction.scope, () => this.#complete(transaction, stored));
          isAttached = true;
          return this.#respondIn(transaction, stored, doWork);
        },
        { ...options, propagation: 'required' },
      );
    } finally {
      if (!isAttached) this.release();
    }
  }

  async #respondIn<T>(
    transaction: Transaction & RespondingTransaction,
    stored: StoredKey,
    work: () => Promise<NewResponse<T>>,
  ): Promise<IdempotentResponse<T>> {
    const { store, lifetimeMs } = this.#shared;
    const { connection } = transaction;
    if ((transaction[RESPONDS_TO] ??= this) !== this)
      throw usedTwice('A transaction stores the response of one request, and it was to store a second one');
    // A retry begins when the transaction before it has released the lock.
    this.#lock();
    const state = await store.insert(connection, stored, lifetimeMs);
    if (state === 'running') throw this.#error('running');
    if (state === 'known') return this.#replay<T>(connection, stored);
    const response = asResponse(await work());
    await store.keep(connection, stored.key, response);
    return response;
  }

  async #replay<T>(
    connection: Transaction['connection'],
    { key, fingerprint }: StoredKey,
  ): Promise<IdempotentResponse<T>> {
    const first = await this.#shared.store.find(connection, key);
    // Expired and removed between our two statements: there is nothing to replay, and a retry does the work.
    if (!first) throw this.#error('running');
    if (first.fingerprint !== fingerprint) throw this.#error('reused');
    // Only this transaction can see that: respond() was called in its own work.
    if (!first.response) throw usedTwice('respond() was called in the work of respond(), with the same key');
    const { status, headers, body } = first.response;
    return { status, headers: { ...headers, 'idempotency-replayed': 'true' }, body: body as T, replayed: true };
  }

  #error(problem: 'running' | 'reused'): IdempotencyError {
    return new IdempotencyError(problem, this.#shared.rules.documentation);
  }

  #lock(): void {
    if (!this.#stored || this.#isLocked) return;
    if (this.#shared.keys.lock(this.#stored.key, this.#request) === 'running') throw this.#error('running');
    this.#isLocked = true;
  }

  /** After a rollback, or where nobody knows the outcome, the request may use its key again. */
  #complete({ state }: Transaction, { key }: StoredKey): undefined {
    if (state === 'committed') this.#shared.keys.markUsed(key, this.#request);
    return this.release();
  }

  /** @internal A second call does nothing: another request may have locked the key by then. */
  release(): undefined {
    if (this.#stored && this.#isLocked) this.#shared.keys.release(this.#stored.key);
    this.#isLocked = false;
    return undefined;
  }
}

function asResponse<T>({ status, headers = {}, body }: NewResponse<T>): IdempotentResponse<T> {
  return { status, headers, body, replayed: false };
}

/**
 * Does the work of a request once, however often its client sends it: the key and the response are stored in the transaction of
 * the work. Made by `createIdempotency()`; keep one per process, as a singleton of the application: `start()` it, `dispose()` it
 * at shutdown, which the container does by itself.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import type { Idempotency } from '@ambit/idempotency';
 *
 * declare function place(scope: IContainer, order: unknown): Promise<{ id: string }>;
 *
 * async function handle(idempotency: Idempotency, requestScope: IContainer, request: Request): Promise<Response> {
 *   const order: unknown = await request.json();
 *   const key = request.headers.get('idempotency-key');
 *   const { status, headers, body } = await idempotency.respond(
 *     requestScope,
 *     { key, caller: undefined, endpoint: 'POST /orders', input: order },
 *     async (scope) => ({ status: 201, body: await place(scope, order) }),
 *   );
 *   return Response.json(body, { status, headers });
 * }
 * ```
 */
export class Idempotency {
  readonly #pool: Pick<IDatabasePool, 'getConnection' | 'query'>;
  readonly #table: KeyTable;
  readonly #shared: Shared;
  readonly #expiry: Expiry;

  /** @internal Call `createIdempotency()` instead. */
  constructor(pool: Pick<IDatabasePool, 'getConnection' | 'query'>, options: IdempotencyOptions) {
    const { documentation, key, onError } = options;
    const lifetimeMs = lifetimeOf(options);
    checkDocumentation(documentation);
    if (key !== undefined) checkSchema('key', key);
    checkFunction('onError', onError);
    this.#pool = pool;
    this.#table = tableOf(options);
    this.#shared = { store: new Store(this.#table), keys: new Keys(), lifetimeMs, rules: { documentation, key } };
    this.#expiry = new Expiry(pool, this.#table, lifetimeMs, onError);
  }

  /**
   * Does the work in a transaction, and stores its response there under the key of the request; or gives the response that the
   * first request with this key has stored. A request without a key is done as always.
   *
   * With the scope of the request the transaction is its own: it begins after the key is locked, and is committed when this
   * resolves, so the response can be sent on any host. In the scope of a transaction that is open, key and response are part of that
   * one; only what `work` does is done once, so do everything in it.
   *
   * @param scope - that of the request, or of its open transaction
   * @param request - its key, its caller, and what tells it from another request
   * @param work - receives the scope of the transaction. It is not called for a repetition
   * @param options - of a transaction that begins now
   * @returns the response to send
   * @throws `IdempotencyError`: the key is missing, malformed or invalid, in use, or was used for another request
   * @throws `TransactionError` `AMBIT_OPTION`: `caller` or `endpoint` is invalid
   * @throws what `respond()` of a `LockedRequest` throws
   */
  async respond<T>(
    scope: IContainer,
    request: IdempotentRequest,
    work: Work<NewResponse<T>>,
    options?: RespondOptions,
  ): Promise<IdempotentResponse<T>> {
    return this.#lock(scope, request).respond(scope, work, options);
  }

  /**
   * Locks the key before a transaction begins that is not begun by `respond()`, such as by `withTransaction()` of a host. A
   * repetition is then refused at once, and needs no connection while the first request has one.
   *
   * @param scope - that of the request. When it is disposed, the key is released at the latest
   * @param request - its key, its caller, and what tells it from another request
   * @returns the request, whose `respond()` takes the scope of the transaction
   * @throws `IdempotencyError`: the key is missing, malformed or invalid, or in use
   * @throws `TransactionError` `AMBIT_OPTION`: `caller` or `endpoint` is invalid
   * @throws `TransactionError` `AMBIT_TX_ALREADY_OPEN`: the request has used this key before
   */
  lock(scope: IContainer, request: IdempotentRequest): LockedRequest {
    const locked = this.#lock(scope, request);
    try {
      deferOn(scope, () => locked.release());
      return locked;
    } catch (error) {
      // The scope is disposed already, and would never release it.
      locked.release();
      throw error;
    }
  }

  /** Removes expired keys now and every hour. A second call does nothing. */
  start(): void {
    this.#expiry.start();
  }

  /** Stops that. The container calls it at shutdown. */
  dispose(): void {
    this.#expiry.dispose();
  }

  /**
   * Removes all keys that have expired, a thousand at a time; for a program of its own in place of `start()`.
   *
   * @returns how many there were
   * @throws what `query()` of the pool throws
   */
  removeExpired(): Promise<number> {
    return this.#expiry.remove();
  }

  /**
   * Creates the table and its index, in one transaction. It is made for a migration, and for tests.
   *
   * @throws `TransactionError` `AMBIT_TX_STATEMENT_FAILED`: the database refused it, such as because the table exists
   * @throws what `getConnection()` of the pool, and BEGIN and COMMIT on its connection, throw
   */
  createTable(): Promise<void> {
    return runScript(this.#pool, this.#table.schema);
  }

  #lock(scope: IContainer, request: IdempotentRequest): LockedRequest {
    return new LockedRequest(this.#shared, scope, readKey(request, this.#shared.rules));
  }
}

/** Without an end the table would grow forever; zero would make every key new. The database counts in whole milliseconds. */
function lifetimeOf({ lifetimeMs = DAY_MS }: IdempotencyOptions): number {
  if (typeof lifetimeMs === 'number' && lifetimeMs > 0 && lifetimeMs < Infinity) return Math.ceil(lifetimeMs);
  throw new TransactionError('AMBIT_OPTION', `lifetimeMs must be more than 0 and finite, not ${String(lifetimeMs)}`);
}

/** It becomes part of a header. */
function checkDocumentation(documentation: unknown): void {
  if (documentation === undefined || (typeof documentation === 'string' && /^[!-;=?-~]+$/.test(documentation))) return;
  throw new TransactionError('AMBIT_OPTION', 'documentation must be an address without spaces and angle brackets');
}

/**
 * Idempotency keys, stored in the transaction of the work.
 *
 * @param pool - the pool of the application; expired keys are removed with it. Requests use the connection of their transaction
 * @param options - the kind of database, the name of the table, and for how long keys are kept
 * @returns what responds to requests; it holds nothing open before `start()`
 * @throws `TransactionError` `AMBIT_OPTION`: an invalid option
 *
 * @example
 * ```ts
 * import { lifetimes, onStart } from '@ambit/container';
 * import { createIdempotency } from '@ambit/idempotency';
 * import type { IDatabasePool } from '@ambit/transaction';
 *
 * declare function openPool(): IDatabasePool;
 * const { make, build } = lifetimes('application', 'request', 'transaction');
 * export const graph = build({
 *   IDatabasePool: make('application', openPool),
 *   IIdempotency: make('application', (pool: IDatabasePool) => createIdempotency(pool, { dialect: 'postgres' }), [
 *     'IDatabasePool',
 *   ]).pipe(onStart((keys) => keys.start())),
 * });
 * ```
 */
export function createIdempotency(
  pool: Pick<IDatabasePool, 'getConnection' | 'query'>,
  options: IdempotencyOptions,
): Idempotency {
  checkFunction('pool.query', (pool as Partial<IDatabasePool> | undefined)?.query, { required: true });
  return new Idempotency(pool, options);
}
