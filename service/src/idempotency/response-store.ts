import { type IConnection, sqlStateOf } from '@ambit/transaction';
import type { IRequestContext } from '../audit.js';
import type { ISqlDialect } from '../database/dialect.js';
import type { HttpResponse } from '../http/response.js';
import { Problem } from '../problem.js';
import { KEY_LIFETIME_MS } from './expired-keys.js';
import { type IdempotentRequest, storedKey } from './idempotent-request.js';
import { type KeyLock, stillRunning } from './key-lock.js';

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

/** One per transaction: stores the key together with the work that was done under it. */
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
