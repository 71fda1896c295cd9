import type { IncomingMessage } from 'node:http';
import { getHeapStatistics } from 'node:v8';
import { HttpError } from '@ambit/http';
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { TLocalizedValidationError } from 'typebox/error';
import { Format, IsEmail } from 'typebox/format';
import { Problem } from '../problem.js';

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The body of any other method is ignored. */
export const mayHaveBody = ({ method = '' }: IncomingMessage): boolean => METHODS_WITH_BODY.has(method);

/** Larger than any order that the schema allows, in its usual notation. */
const MAX_BYTES = 1_048_576;
/** A client that sends this much after the refusal will not read the response. */
const MAX_IGNORED_BYTES = 16 * MAX_BYTES;
/** The body of an order has 3 levels. */
const MAX_DEPTH = 32;
/** An order of 1,000 items has 3,002 values. */
const MAX_VALUES = 10_000;
/** The part of the heap's limit for incomplete bodies, which are outside of it, and in the memory of the same machine. */
const INCOMPLETE_SHARE = 1 / 4;
const FIRST_BLOCK = 1024;

const JSON_TYPE = /^application\/json\s*(?:;\s*(?:charset=(?:utf-8|"utf-8")\s*)?)?$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });

interface IncompleteBody {
  /** Its memory. */
  bytes: number;
  readonly refuse: (error: Error) => void;
}

/** Reads the bodies of a host's requests: both hosts accept and refuse the same bytes with the same messages. */
export class JsonBodies {
  readonly #incomplete = new Set<IncompleteBody>();
  /**
   * For all incomplete bodies together. Beyond it the largest is refused, so that clients which stall their uploads use up neither the memory
   * nor the limit.
   */
  #bytesLeft = getHeapStatistics().heap_size_limit * INCOMPLETE_SHARE;

  async read(req: IncomingMessage): Promise<unknown> {
    const bytes = await this.#readBytes(req);
    const { 'content-type': type, 'content-encoding': encoding = 'identity' } = req.headers;
    const { 'transfer-encoding': coding = 'chunked' } = req.headers;
    if (type === undefined && bytes.length === 0) return undefined;
    if (!JSON_TYPE.test(type ?? '')) throw new Problem(415, 'The body must be sent as application/json in UTF-8');
    if (bytes.length === 0) return undefined;
    // Node takes `gzip, chunked` for chunks, and leaves what is in them as it is.
    if (encoding.toLowerCase() !== 'identity' || coding.toLowerCase() !== 'chunked')
      throw new Problem(415, 'The body must be sent without compression');
    return parse(bytes);
  }

  /** The whole body; one that is too large is refused as soon as that is known. */
  #readBytes(req: IncomingMessage): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const announced = Number(req.headers['content-length'] ?? 0);
      let received = 0;
      let isRefused = false;
      let whole: Buffer | undefined;
      // One block, which grows: kept as it comes, a piece of one byte costs 200.
      let block = Buffer.alloc(0);
      const resize = (bytes: number): void => {
        const larger = Buffer.allocUnsafeSlow(bytes);
        block.copy(larger, 0, 0, received);
        block = larger;
        this.#bytesLeft -= bytes - body.bytes;
        body.bytes = bytes;
        if (bytes > 0) this.#incomplete.add(body);
        else this.#incomplete.delete(body);
      };
      const refuse = (error: Error): void => {
        resize(0);
        isRefused = true;
        reject(error);
      };
      const body: IncompleteBody = { bytes: 0, refuse };
      const refuseLarge = (): void => {
        const headers = announced > MAX_IGNORED_BYTES ? { connection: 'close' } : {};
        refuse(new Problem(413, 'The body is too large', headers));
      };
      const fail = (): void => refuse(new Problem(400, 'The body did not arrive whole'));
      if (req.destroyed) fail();
      if (announced > MAX_BYTES) {
        refuseLarge();
        // The client waits for `100 Continue`, which it would get if its body was read.
        if (req.headers.expect !== undefined) return;
      }
      // A refused body is still read: closing a connection with unread bytes would lose the response.
      req.on('data', (piece: Buffer) => {
        const length = received + piece.length;
        if (length > MAX_IGNORED_BYTES) req.destroy();
        if (length > MAX_BYTES && !isRefused) refuseLarge();
        if (piece.length === announced) whole = piece;
        else if (!isRefused) {
          if (length > block.length) resize(Math.max(length, Math.min(2 * block.length, MAX_BYTES), FIRST_BLOCK));
          piece.copy(block, received);
          this.#refuseLargest();
        }
        received = length;
      });
      req.on('end', () => {
        resolve(whole ?? block.subarray(0, received));
        resize(0);
      });
      req.on('error', fail);
    });
  }

  #refuseLargest(): void {
    while (this.#bytesLeft < 0) {
      const largest = [...this.#incomplete].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      largest.refuse(new HttpError('AMBIT_HTTP_OVERLOADED'));
    }
  }
}

function parse(bytes: Buffer): unknown {
  limitValues(bytes);
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new Problem(400, 'The body is not valid UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the body, and differs between versions of Node.
    throw new Problem(400, 'The body is not valid JSON');
  }
}

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Refuses a body whose value would occupy a multiple of its bytes: 1 MiB of `[[[[` or `{},{},` becomes 20 to 30 MiB, and the
 * host keeps the values of all requests that are in progress. Exact up to the first syntax error, where the parser stops.
 */
function limitValues(bytes: Uint8Array): void {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
      continue;
    }
    const isOpen = byte === OPEN_LIST || byte === OPEN_OBJECT;
    if (isOpen) depth += 1;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth -= 1;
    if (isOpen || byte === COMMA) values += 1;
    if (depth > MAX_DEPTH) throw new Problem(400, `The body must not be nested deeper than ${MAX_DEPTH} levels`);
    if (values > MAX_VALUES) throw new Problem(400, `The body must not have more than ${MAX_VALUES} values`);
  }
}

/** PostgreSQL cannot store NUL, and UTF-8 has no lone surrogates. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;
Format.Set('text', (value) => !UNSTORABLE.test(value));
/** A line break would begin another header of a message that is sent to the address; between quotes the format allows it. */
const NOT_IN_ADDRESS = /[\p{Cc}\p{Surrogate}]/u;
Format.Set('email', (value) => IsEmail(value) && !NOT_IN_ADDRESS.test(value));

const FORMATS: Readonly<Record<string, string>> = {
  text: 'must be well-formed Unicode text without NUL',
  email: 'must be an email address',
};
const MAX_MESSAGES = 3;

/** Returns a function that returns the body, typed, or a 400 that names each invalid field, as Fastify expects it. */
export function bodyValidator<T extends TSchema>(
  schema: T,
): (body: unknown) => { readonly value: Static<T> } | { readonly error: Problem } {
  const validator = Compile(schema);
  return (body) => {
    if (validator.Check(body)) return { value: body };
    // Without a body Fastify validates null.
    if (body === undefined || body === null) return { error: new Problem(400, 'A JSON body is required') };
    const errors = validator.Errors(body).slice(0, MAX_MESSAGES);
    return { error: new Problem(400, errors.map(sentence).join('; ')) };
  };
}

/** Returns a check that throws the 400. */
export function bodyCheck<T extends TSchema>(schema: T): (body: unknown) => Static<T> {
  const validate = bodyValidator(schema);
  return (body) => {
    const result = validate(body);
    if ('error' in result) throw result.error;
    return result.value;
  };
}

/** The pointer `/items/3/quantity` becomes `.items[3].quantity`. */
function sentence({ instancePath, keyword, params, message }: TLocalizedValidationError): string {
  const { format = '' } = params as { format?: string };
  const path = instancePath.replaceAll(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
  return `body${path} ${keyword === 'format' ? (FORMATS[format] ?? message) : message}`;
}
