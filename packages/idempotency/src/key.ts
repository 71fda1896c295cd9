import { createHash } from 'node:crypto';
import { TransactionError } from '@ambit/transaction';
import type { StandardSchema } from '@ambit/transaction/extension';
import { IdempotencyError } from './error.js';

/** The header `Idempotency-Key` as hosts give it: `req.headers[...]` of Node, `request.headers.get(...)` of the web. */
export type IdempotencyHeader = string | readonly string[] | null | undefined;

/** A request that is carried out once, however often its client sends it. */
export interface IdempotentRequest {
  /** The header `Idempotency-Key`. Without one the work is done as always, and nothing is stored. */
  readonly key: IdempotencyHeader;
  /**
   * Who sends it, such as the id of the user, with the tenant where ids are unique in a tenant only; `undefined` for all who are
   * anonymous. Each caller has keys of its own, so nobody gets the response of another caller.
   */
  readonly caller: string | undefined;
  /** Such as `POST /orders`: a key that was used at another endpoint is refused. */
  readonly endpoint: string;
  /**
   * What the work depends on, such as the checked body and the parameters of the path: anything that `JSON.stringify()` can write.
   * A key that was used with another input is refused. The order of properties counts.
   */
  readonly input: unknown;
  /** Refuses a request without a key. Default false. */
  readonly required?: boolean;
}

/** The part of the options that keys are read with. */
export interface KeyRules {
  readonly documentation?: string | undefined;
  readonly key?: StandardSchema<unknown, string> | undefined;
}

/** A key as it is stored, and what tells a repetition from another request. */
export interface StoredKey {
  readonly key: string;
  readonly fingerprint: string;
}

const MOST_CHARACTERS = 255;
const LONGEST_HEADER = 2048;
/** What most clients send. */
const BARE = /^[!-~]+$/;
/** Each of its characters may stand in a key. */
const PRINTABLE = /^[ -~]+$/;
/** A String of RFC 9651, and after it parameters, which mean nothing here. */
const QUOTED =
  /^"((?:[ !#-[\]-~]|\\["\\])*)"(?: *; *[*a-z][-_.*a-z0-9]*(?:=(?:"(?:[ !#-[\]-~]|\\["\\])*"|[^ ";,]+))?)*$/;

/** The key of the request, or undefined where it has none and needs none. */
export function readKey(
  request: IdempotentRequest,
  { documentation, key: schema }: KeyRules = {},
): StoredKey | undefined {
  const { key: header, caller, endpoint, input, required } = request;
  checkRequest(request);
  if (header === undefined || header === null) {
    if (required) throw new IdempotencyError('missing', documentation);
    return undefined;
  }
  const sent = textOf(typeof header === 'string' ? header : header.length === 1 ? header[0] : undefined);
  if (sent === undefined) throw new IdempotencyError('malformed', documentation);
  const text = schema ? textBy(schema, sent) : sent;
  if (text === undefined) throw new IdempotencyError('invalid', documentation);
  // No text that a client sends can look like a hashed key: one with a space is kept in quotes.
  const stored = BARE.test(text) && !text.startsWith('"') ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
  const key = caller === undefined ? stored : `of ${sha256(`${caller}\n${stored}`)}`;
  return { key, fingerprint: sha256(`${endpoint}\n${inputText(input)}`) };
}

/** The same for `"abc"` and `abc`, so that a client may change from the one to the other between two attempts. */
function textOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length > LONGEST_HEADER) return undefined;
  if (!header.startsWith('"')) return BARE.test(header) && header.length <= MOST_CHARACTERS ? header : undefined;
  const text = QUOTED.exec(header)?.[1]?.replaceAll(/\\(["\\])/g, '$1');
  return text === undefined || text === '' || text.length > MOST_CHARACTERS ? undefined : text;
}

/** The key as the schema returns it, or undefined where it does not fit. */
function textBy(schema: StandardSchema<unknown, string>, sent: string): string | undefined {
  const result = schema['~standard'].validate(sent);
  if ('then' in result) throw new TransactionError('AMBIT_OPTION', 'key must be a schema that needs no promise');
  if (result.issues) return undefined;
  const text: unknown = result.value;
  if (typeof text === 'string' && PRINTABLE.test(text) && text.length <= MOST_CHARACTERS) return text;
  throw new TransactionError('AMBIT_OPTION', `key must return 1 to ${MOST_CHARACTERS} printable ASCII characters`);
}

/** Code without types may forget the caller, and would then mix the keys of all. */
function checkRequest(request: IdempotentRequest): void {
  const { caller, endpoint } = request;
  if (!('caller' in request) || (caller !== undefined && typeof caller !== 'string'))
    throw new TransactionError('AMBIT_OPTION', 'caller must be a text, or undefined where all callers are anonymous');
  if (typeof endpoint !== 'string' || endpoint === '' || endpoint.includes('\n'))
    throw new TransactionError('AMBIT_OPTION', 'endpoint must be a text in one line, such as POST /orders');
}

function inputText(input: unknown): string | undefined {
  try {
    return JSON.stringify(input);
  } catch (cause) {
    throw new TransactionError('AMBIT_TX_PARAMETER', 'input cannot be written as JSON', { cause });
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
