import { type IConnection, sqlStateOf, TransactionError } from '@ambit/transaction';
import { unchecked } from '@ambit/transaction/extension';
import type { KeyTable } from '@ambit/transaction/databases';
import type { StoredKey } from './key.js';

const LOCK_NOT_AVAILABLE = '55P03';

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

/** Keys and their responses in the table of a database. */
export class Store {
  readonly #table: KeyTable;

  constructor(table: KeyTable) {
    this.#table = table;
  }

  /** `stored` when the key is new or expired, `known` when it is neither, `running` while another transaction has it. */
  async insert(
    connection: Pick<IConnection, 'query'>,
    { key, fingerprint }: StoredKey,
    lifetimeMs: number,
  ): Promise<'stored' | 'known' | 'running'> {
    try {
      const row = { key, fingerprint, lifetimeMs };
      // Kept with a response of 4xx, too, and no work of the handler.
      return (await unchecked(() => this.#table.insert(connection, row))) ? 'stored' : 'known';
    } catch (error) {
      if (sqlStateOf(error) === LOCK_NOT_AVAILABLE) return 'running';
      throw error;
    }
  }

  /** Undefined where the key has expired and was removed meanwhile. */
  async find(connection: Pick<IConnection, 'query'>, key: string): Promise<FirstRequest | undefined> {
    const [row] = await connection.query<StoredRow>(this.#table.find, [key]);
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
    await unchecked(() => connection.query(this.#table.keep, [key, status, headers, body]));
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
