import { createHash } from 'node:crypto';
import { setImmediate as otherWork } from 'node:timers/promises';
import { onStart } from '@ambit/container';
import { type IConnection, type IDatabasePool, sqlStateOf } from '@ambit/transaction';
import { executeOn } from '@ambit/transaction/extension';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { IRequestContext } from '../ids.js';
import type { ISqlDialect } from '../database/dialect.js';
import type { HttpResponse } from '../http/response.js';
import { feature, hosts, infrastructure, of } from '../infrastructure.js';
import type { ILogger } from '../logging/logger.js';
import { Problem } from '../problem.js';

const HOUR_MS = 3_600_000;

const KEY_LIFETIME_MS = 24 * HOUR_MS;

const BATCH_SIZE = 1000;

/**
 * Selects the oldest keys by their age, so a key that a new request takes over meanwhile is not among them. It begins after
 * `$1`, the end of the batch before: PostgreSQL would otherwise pass over all rows deleted so far, again for each batch.
 */
const DELETE_BATCH = `DELETE FROM idempotency_keys WHERE created_at > $1 AND created_at <= (
     SELECT max(created_at) FROM (
       SELECT created_at FROM idempotency_keys WHERE created_at > $1 AND created_at <= $2
       ORDER BY created_at LIMIT ${BATCH_SIZE}
     ) AS oldest
   ) RETURNING created_at`;

interface DeletedRow {
  /** Text where the driver gives 64 bits as text. */
  readonly created_at: number | string;
}

/** Application-wide: deletes expired keys at start and every hour. An expired key counts as new before it is deleted. */
export class ExpiredKeys {
  #timer: NodeJS.Timeout | undefined;
  #disposed = false;

  constructor(
    private readonly pool: IDatabasePool,
    private readonly logger: ILogger,
  ) {}

  start(): void {
    void this.#tryToRemove();
    this.#timer = setInterval(() => void this.#tryToRemove(), HOUR_MS).unref();
  }

  /** In batches: one statement for millions of keys would block SQLite, and time out on PostgreSQL. */
  async remove(): Promise<void> {
    const expiry = Date.now() - KEY_LIFETIME_MS;
    let deletedUntil = -1;
    while (!this.#disposed) {
      const { rows } = await executeOn<DeletedRow>(this.pool, DELETE_BATCH, [deletedUntil, expiry]);
      if (rows.length === 0) return;
      for (const { created_at: createdAt } of rows) deletedUntil = Math.max(deletedUntil, Number(createdAt));
      await otherWork();
    }
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#disposed = true;
  }

  async #tryToRemove(): Promise<void> {
    try {
      await this.remove();
    } catch (err) {
      this.logger.warn({ msg: 'Expired idempotency keys were not deleted; the next attempt is in an hour', err });
    }
  }
}

export const IdempotencyKey = Type.String({ pattern: '^[!-~]{1,255}$' });
const keyCheck = Compile(IdempotencyKey);

/** The `Idempotency-Key` header as Node gives it. */
export type KeyHeader = string | string[] | undefined;

/** A request that is carried out once, however often the client sends it. */
export interface IdempotentRequest {
  readonly key: string;
  /** Distinguishes a repetition from another request under the same key. */
  readonly fingerprint: string;
}

/** `input` is what the work depends on, so that white space and unknown properties make no difference. */
export function idempotentRequest(header: string | string[], endpoint: string, input: unknown): IdempotentRequest {
  if (!keyCheck.Check(header))
    throw new Problem(400, 'Idempotency-Key must be 1 to 255 visible ASCII characters, given once');
  return { key: header, fingerprint: sha256(`${endpoint}\n${JSON.stringify(input)}`) };
}

/** The key as it is stored. Each caller has its own keys, so nobody gets another caller's response or learns its keys. */
function storedKey({ userId }: IRequestContext, key: string): string {
  // A client's key cannot have a space.
  return userId === undefined ? key : `of ${sha256(`${userId}\n${key}`)}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** Application-wide: the keys whose first request is still running in this process. */
export class LockedKeys {
  readonly #keys = new Set<string>();

  acquire(key: string): boolean {
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    return true;
  }

  release(key: string): void {
    this.#keys.delete(key);
  }
}

/** One per request: locks its key until its transaction is finished, or until its scope is disposed where there was none. */
export class KeyLock {
  readonly #keys: LockedKeys;
  readonly #context: IRequestContext;
  #locked: string | undefined;

  constructor(keys: LockedKeys, context: IRequestContext) {
    this.#keys = keys;
    this.#context = context;
  }

  acquire(key: string): void {
    const own = storedKey(this.#context, key);
    if (!this.#keys.acquire(own)) throw stillRunning();
    this.#locked = own;
  }

  /** A second call does nothing: another request may have locked the key by then. */
  release(): void {
    if (this.#locked !== undefined) this.#keys.release(this.#locked);
    this.#locked = undefined;
  }

  dispose(): void {
    this.release();
  }
}

function stillRunning(): Problem {
  return new Problem(409, 'A request with this Idempotency-Key is still running: try again when it has finished', {
    'retry-after': '1',
  });
}

/** A response that may be the stored one of an earlier request. */
export interface ReplayableResponse<T> extends HttpResponse<T> {
  readonly replayed: boolean;
}

interface StoredRow {
  readonly fingerprint: string;
  /** Text where INTEGER has 64 bits. */
  readonly status: number | string;
  readonly body: string;
}

const LOCK_NOT_AVAILABLE = '55P03';

/**
 * One per transaction: stores the key together with the work that was done under it.
 * @public The declaration of the graph names it.
 */
export class ResponseStore {
  readonly #connection: IConnection;
  readonly #dialect: ISqlDialect;
  readonly #context: IRequestContext;
  readonly #lock: KeyLock;

  constructor(connection: IConnection, dialect: ISqlDialect, context: IRequestContext, lock: KeyLock) {
    this.#connection = connection;
    this.#dialect = dialect;
    this.#context = context;
    this.#lock = lock;
  }

  /** From now on the stored key decides, and the request may need minutes until its client has read the response. */
  dispose(): void {
    this.#lock.release();
  }

  /** Does the work and stores its response, or returns the response stored by the first request. */
  async respond<T>(
    { key, fingerprint }: IdempotentRequest,
    status: number,
    work: () => Promise<T>,
  ): Promise<ReplayableResponse<T>> {
    const own: IdempotentRequest = { key: storedKey(this.#context, key), fingerprint };
    if (!(await this.#insert(own))) return this.#replay<T>(own);
    const body = await work();
    await this.#connection.query('UPDATE idempotency_keys SET status = $2, body = $3 WHERE key = $1', [
      own.key,
      status,
      JSON.stringify(body),
    ]);
    return { status, headers: {}, body, replayed: false };
  }

  /** True when the key is new, or expired. */
  async #insert({ key, fingerprint }: IdempotentRequest): Promise<boolean> {
    const { limitLockWait, unlimitLockWait } = this.#dialect;
    const now = Date.now();
    try {
      if (limitLockWait) await this.#connection.query(limitLockWait);
      const inserted = await this.#connection.query(
        `INSERT INTO idempotency_keys (key, fingerprint, created_at) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE
         SET fingerprint = excluded.fingerprint, status = NULL, body = NULL, created_at = excluded.created_at
         WHERE idempotency_keys.created_at <= $4
         RETURNING key`,
        [key, fingerprint, now, now - KEY_LIFETIME_MS],
      );
      if (unlimitLockWait) await this.#connection.query(unlimitLockWait);
      return inserted.length > 0;
    } catch (error) {
      // Another instance has inserted the row and not committed yet.
      if (sqlStateOf(error) === LOCK_NOT_AVAILABLE) throw stillRunning();
      throw error;
    }
  }

  async #replay<T>({ key, fingerprint }: IdempotentRequest): Promise<ReplayableResponse<T>> {
    const [first] = await this.#connection.query<StoredRow>(
      'SELECT fingerprint, status, body FROM idempotency_keys WHERE key = $1 LIMIT 1',
      [key],
    );
    // Expired and removed between our two statements: there is nothing to replay, and a retry does the work.
    if (!first) throw stillRunning();
    if (first.fingerprint !== fingerprint) {
      throw new Problem(422, 'This Idempotency-Key was used for another request: take a new key for new work');
    }
    const body = JSON.parse(first.body) as T;
    return { status: Number(first.status), headers: { 'idempotency-replayed': 'true' }, body, replayed: true };
  }
}

export const idempotency = feature(
  'idempotency',
  {
    ILockedKeys: of('application', LockedKeys),
    IExpiredKeys: of('application', ExpiredKeys, ['IDatabasePool', 'ILogger']).pipe(onStart((keys) => keys.start())),
    IKeyLock: of('request', KeyLock, ['ILockedKeys', 'IRequestContext']),
    IResponseStore: of('transaction', ResponseStore, ['IConnection', 'ISqlDialect', 'IRequestContext', 'IKeyLock']),
  },
  hosts,
  infrastructure,
);
