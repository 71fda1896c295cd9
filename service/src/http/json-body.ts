import type { IncomingMessage } from 'node:http';
import { Problem } from '../problem.js';

/** Larger than any order that the schema allows, in its usual notation. */
const MAX_BYTES = 1_048_576;
/** A client that sends this much after the refusal will not read the response. */
const MAX_IGNORED_BYTES = 16 * MAX_BYTES;

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
  if (hasProto(text, value)) throw new Problem(400, 'The body must not have a property named __proto__');
  return value;
}

/** An own property of that name becomes the prototype of any object it is copied into. */
function hasProto(text: string, value: unknown): boolean {
  // The name can also be written with escapes.
  if (!text.includes('__proto__') && !text.includes('\\u')) return false;
  // No recursion: a body may nest deeper than the stack.
  const parts = [value];
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (typeof part !== 'object' || part === null) continue;
    if (Object.hasOwn(part, '__proto__')) return true;
    for (const inner of Object.values(part)) parts.push(inner);
  }
  return false;
}
