import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.js';

/** Larger than any order that the schema allows, in its usual notation. */
const MAX_BYTES = 1_048_576;
/** A client that sends this much after the refusal will not read the response. */
const MAX_IGNORED_BYTES = 16 * MAX_BYTES;
/** The body of an order has 3 levels. */
const MAX_DEPTH = 32;
/** An order of 1,000 items has 3,002 values. */
const MAX_VALUES = 10_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const JSON_TYPE = /^application\/json\s*(?:;\s*(?:charset=(?:utf-8|"utf-8")\s*)?)?$/i;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads bodies for both hosts, so that they accept and refuse the same bytes with the same messages. */
export async function readJsonBody(req: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(req);
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = req.headers;
  if (type === undefined && bytes.length === 0) return undefined;
  if (!JSON_TYPE.test(type ?? '')) throw new Problem(415, 'The body must be sent as application/json in UTF-8');
  if (bytes.length === 0) return undefined;
  if (encoding.toLowerCase() !== 'identity') throw new Problem(415, 'The body must be sent without Content-Encoding');
  limitValues(bytes);
  return parse(decode(bytes));
}

/** The whole body; one that is too large is refused as soon as that is known. */
function readBytes(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const announced = Number(req.headers['content-length'] ?? 0);
    const headers = announced > MAX_IGNORED_BYTES ? { connection: 'close' } : {};
    const refuse = (): void => reject(new Problem(413, 'The body is too large', headers));
    const fail = (): void => reject(new Problem(400, 'The body did not arrive whole'));

    if (req.destroyed) fail();
    if (announced > MAX_BYTES) refuse();
    // A refused body is still read: closing a connection with unread bytes would lose the response.
    req.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_BYTES) chunks.push(chunk);
      else refuse();
      if (length > MAX_IGNORED_BYTES) req.destroy();
    });
    req.on('end', () => resolve(Buffer.concat(chunks)));
    req.on('error', fail);
  });
}

/**
 * Refuses a body whose value would occupy a multiple of its bytes: 1 MiB of `[[[[` or `{},{},` becomes 20 to 30 MiB, and the
 * host keeps the values of all requests that are in progress. Exact up to the first syntax error, where the parser stops.
 */
function limitValues(bytes: Uint8Array): void {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at] as number) {
      case QUOTE:
        at = endOfString(bytes, at);
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        break;
      default:
    }
    if (depth > MAX_DEPTH) throw new Problem(400, `The body must not be nested deeper than ${MAX_DEPTH} levels`);
    if (values > MAX_VALUES) throw new Problem(400, `The body must not have more than ${MAX_VALUES} values`);
  }
}

function endOfString(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Problem(400, 'The body is not valid UTF-8');
  }
}

function parse(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, and differs between versions of Node.
    throw new Problem(400, 'The body is not valid JSON');
  }
  // The name can also be written with escapes.
  if ((text.includes('__proto__') || text.includes('\\u')) && hasProto(value))
    throw new Problem(400, 'The body must not have a property named __proto__');
  return value;
}

/** An own property of that name becomes the prototype of any object it is copied into. */
function hasProto(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProto);
}
