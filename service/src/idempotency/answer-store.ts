import { inject } from '@ambit/container';
import type { IRequestContext } from '../audit/request-context.js';
import { type IConnection, sqlStateOf } from '@ambit/transaction';
import type { ISqlDialect } from '../database/dialect.js';
import { Problem } from '../problem.js';
import { KEY_LIFE_MS } from './expired-keys.js';
import { type KeyHold, stillRunning } from './keys-in-use.js';
import type { Answer, Once } from './once.js';
import { storedKey } from './stored-key.js';

interface StoredAnswer {
  readonly fingerprint: string;
  /** Text where INTEGER has 64 bits. */
  readonly status: number | string;
  readonly body: string;
}

const LOCK_NOT_AVAILABLE = '55P03';

/** Of one transaction: the key is stored together with what was done under it, or neither is. */
export class AnswerStore {
  readonly #connection: IConnection;
  readonly #dialect: ISqlDialect;
  readonly #context: IRequestContext;
  readonly #hold: KeyHold;

  constructor(
    @inject('IConnection') connection: IConnection,
    @inject('ISqlDialect') dialect: ISqlDialect,
    @inject('IRequestContext') context: IRequestContext,
    @inject('IKeyHold') hold: KeyHold,
  ) {
    this.#connection = connection;
    this.#dialect = dialect;
    this.#context = context;
    this.#hold = hold;
  }

  /** The stored key has the word from now on, while the request may have to wait for minutes until its answer is fetched. */
  dispose(): void {
    this.#hold.free();
  }

  /** Does the work and keeps its answer, or gives the answer kept from the first time. */
  async answer<T>({ key, fingerprint }: Once, status: number, work: () => Promise<T>): Promise<Answer<T>> {
    const own: Once = { key: storedKey(this.#context, key), fingerprint };
    if (!(await this.#claim(own))) return this.#replay<T>(own);
    const body = await work();
    await this.#connection.query('UPDATE idempotency_keys SET status = $2, body = $3 WHERE key = $1', [
      own.key,
      status,
      JSON.stringify(body),
    ]);
    return { status, body, replayed: false };
  }

  /** True when the key is new, or so old that it counts as new. */
  async #claim({ key, fingerprint }: Once): Promise<boolean> {
    const { limitLockWait, unlimitLockWait } = this.#dialect;
    const now = Date.now();
    try {
      if (limitLockWait) await this.#connection.query(limitLockWait);
      const claimed = await this.#connection.query(
        `INSERT INTO idempotency_keys (key, fingerprint, created_at) VALUES ($1, $2, $3)
         ON CONFLICT (key) DO UPDATE
         SET fingerprint = excluded.fingerprint, status = NULL, body = NULL, created_at = excluded.created_at
         WHERE idempotency_keys.created_at <= $4
         RETURNING key`,
        [key, fingerprint, now, now - KEY_LIFE_MS],
      );
      if (unlimitLockWait) await this.#connection.query(unlimitLockWait);
      return claimed.length > 0;
    } catch (error) {
      // Another instance is at it: its row is there and not yet committed.
      if (sqlStateOf(error) === LOCK_NOT_AVAILABLE) throw stillRunning();
      throw error;
    }
  }

  async #replay<T>({ key, fingerprint }: Once): Promise<Answer<T>> {
    const [first] = await this.#connection.query<StoredAnswer>(
      'SELECT fingerprint, status, body FROM idempotency_keys WHERE key = $1 LIMIT 1',
      [key],
    );
    // Removed between our two statements, as too old: then there is nothing to replay, and the next try does the work.
    if (!first) throw stillRunning();
    if (first.fingerprint !== fingerprint) {
      throw new Problem(422, 'This Idempotency-Key was used for another request: take a new key for new work');
    }
    return { status: Number(first.status), body: JSON.parse(first.body) as T, replayed: true };
  }
}
