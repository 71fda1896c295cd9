import { type IConnection, type IDatabasePool, sqlStateOf, TransactionError } from '@ambit/transaction';
import type { StoredKey } from './key.js';
import type { IdempotencyDialect, IdempotencyTable } from './schema.js';

/** Everything in which the statements differ between databases. */
interface Sql {
  /**
   * Stores a new key, or takes over an expired one: `$1` key, `$2` fingerprint, `$3` now, `$4` until when keys are expired. Gives the
   * number of keys stored as `inserted`, where it gives a row. While another transaction has the key, it fails with SQLSTATE 55P03.
   */
  readonly insert: (table: string) => string;
}

const takeOver = (table: string): string =>
  `ON CONFLICT (key) DO UPDATE
   SET fingerprint = excluded.fingerprint, status = NULL, headers = NULL, body = NULL, created_at = excluded.created_at
   WHERE ${table}.created_at <= `;

const SQL: Readonly<Record<IdempotencyDialect, Sql>> = {
  postgres: {
    // One round trip in place of three: the limit for locks is set before the row is written, and put back afterwards. The CASE
    // makes the second depend on the first.
    insert: (table) => `WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS value), stored AS (
        INSERT INTO ${table} (key, fingerprint, created_at)
        SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS bigint) FROM before
        WHERE set_config('lock_timeout', '100ms', true) IS NOT NULL
        ${takeOver(table)}CAST($4 AS bigint)
        RETURNING key
      ), counted AS MATERIALIZED (SELECT count(*) AS inserted FROM stored)
      SELECT inserted, set_config('lock_timeout', CASE WHEN inserted >= 0 THEN value END, true) AS lock_timeout
      FROM counted, before`,
  },
  sqlite: {
    // A transaction that writes has the whole file for itself, so nothing waits here.
    insert: (table) => `INSERT INTO ${table} (key, fingerprint, created_at) VALUES ($1, $2, $3)
      ${takeOver(table)}$4 RETURNING 1 AS inserted`,
  },
};

const LOCK_NOT_AVAILABLE = '55P03';

const BATCH_SIZE = 1000;

/** A response as it is stored. */
export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** The first request with a key: its response, once it has one. */
export interface FirstRequest {
  readonly fingerprint: string;
  readonly response: StoredResponse | undefined;
}

interface StoredRow {
  readonly fingerprint: string;
  /** Text where INTEGER has 64 bits. */
  readonly status: number | string | null;
  readonly headers: string | null;
  readonly body: string | null;
}

/** The table of the keys. Pools recognize statements by their text, so there is one text for each. */
export class Store {
  readonly #insert: string;
  readonly #find: string;
  readonly #keep: string;
  readonly #remove: string;

  constructor({ dialect, table }: Required<IdempotencyTable>) {
    this.#insert = SQL[dialect].insert(table);
    this.#find = `SELECT fingerprint, status, headers, body FROM ${table} WHERE key = $1 LIMIT 1`;
    this.#keep = `UPDATE ${table} SET status = $2, headers = $3, body = $4 WHERE key = $1`;
    // The oldest by their age, so a key that a new request takes over meanwhile is not among them. It begins after `$1`, the end of
    // the batch before: PostgreSQL would otherwise pass over all rows deleted so far, again for each batch.
    this.#remove = `DELETE FROM ${table} WHERE created_at > $1 AND created_at <= (
        SELECT max(created_at) FROM (
          SELECT created_at FROM ${table} WHERE created_at > $1 AND created_at <= $2 ORDER BY created_at LIMIT ${BATCH_SIZE}
        ) AS oldest
      ) RETURNING created_at`;
  }

  /** `stored` when the key is new or expired, `known` when it is neither, `running` while another transaction has it. */
  async insert(
    connection: Pick<IConnection, 'query'>,
    { key, fingerprint }: StoredKey,
    lifetimeMs: number,
  ): Promise<'stored' | 'known' | 'running'> {
    const now = Date.now();
    const params = [key, fingerprint, now, now - lifetimeMs];
    try {
      const [row] = await connection.query<{ inserted: number | string }>(this.#insert, params);
      return Number(row?.inserted ?? 0) > 0 ? 'stored' : 'known';
    } catch (error) {
      if (sqlStateOf(error) === LOCK_NOT_AVAILABLE) return 'running';
      throw error;
    }
  }

  /** Undefined where the key has expired and was removed meanwhile. */
  async find(connection: Pick<IConnection, 'query'>, key: string): Promise<FirstRequest | undefined> {
    const [row] = await connection.query<StoredRow>(this.#find, [key]);
    if (!row) return undefined;
    const { fingerprint, status, headers, body } = row;
    if (status === null) return { fingerprint, response: undefined };
    const response = {
      status: Number(status),
      headers: headers === null ? {} : (JSON.parse(headers) as Record<string, string>),
      body: body === null ? undefined : (JSON.parse(body) as unknown),
    };
    return { fingerprint, response };
  }

  /** Stores the response under its key, which this transaction has inserted. */
  async keep(connection: Pick<IConnection, 'query'>, key: string, response: StoredResponse): Promise<void> {
    const { status, headers, body } = textsOf(response);
    await connection.query(this.#keep, [key, status, headers, body]);
  }

  /** Removes a batch of what was stored until `expiry`, and gives the age of each. */
  async remove(pool: Pick<IDatabasePool, 'query'>, after: number, expiry: number): Promise<number[]> {
    const rows = await pool.query<{ created_at: number | string }>(this.#remove, [after, expiry]);
    return rows.map(({ created_at: createdAt }) => Number(createdAt));
  }
}

/** A replay writes the whole body at once, so it must be one that fits in memory many times. */
const MOST_CHARACTERS = 1_048_576;

interface ResponseTexts {
  readonly status: number;
  readonly headers: string | null;
  readonly body: string | null;
}

function textsOf({ status, headers, body }: StoredResponse): ResponseTexts {
  if (!Number.isInteger(status) || status < 200 || status > 499)
    throw refused(
      'status must be a whole number from 200 to 499: throw what fails, so that a repetition does the work',
    );
  if (isOnce(body))
    throw refused(
      'body can be read only once: a stream, a Response or bytes. Return what JSON has, such as a link to it',
    );
  const entries = Object.entries(headers);
  if (!entries.every(([, value]) => typeof value === 'string')) throw refused('headers must be texts');
  const texts = { headers: entries.length === 0 ? null : JSON.stringify(headers), body: jsonOf(body) };
  const length = (texts.headers?.length ?? 0) + (texts.body?.length ?? 0);
  if (length > MOST_CHARACTERS)
    throw refused(`body and headers have ${length} characters as JSON; ${MOST_CHARACTERS} are allowed`);
  return { status, ...texts };
}

/** What a host could send, and JSON would silently write as `{}`. */
function isOnce(body: unknown): boolean {
  if (typeof body === 'function' || ArrayBuffer.isView(body)) return true;
  if (typeof body !== 'object' || body === null) return false;
  return ['pipe', 'getReader', 'arrayBuffer', Symbol.asyncIterator].some((name) => name in body) || isBuffer(body);
}

function isBuffer(body: object): boolean {
  return body instanceof ArrayBuffer || body instanceof SharedArrayBuffer;
}

function jsonOf(body: unknown): string | null {
  try {
    return JSON.stringify(body) ?? null;
  } catch (cause) {
    throw refused('body cannot be written as JSON', { cause });
  }
}

function refused(what: string, options?: { cause: unknown }): TransactionError {
  return new TransactionError('AMBIT_TX_PARAMETER', `The response was not stored: ${what}`, options);
}
