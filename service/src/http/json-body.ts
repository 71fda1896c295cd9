import type { IncomingMessage } from 'node:http';
import { readBytes } from './body-bytes.js';
import { Problem } from '../problem.js';

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const JSON_TYPE = /^application\/json\s*(?:;\s*(?:charset=(?:utf-8|"utf-8")\s*)?)?$/i;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Whether the body is read; with any other method it is ignored. */
export const mayHaveBody = ({ method = '' }: IncomingMessage): boolean => METHODS_WITH_BODY.has(method);

/** One reading of a body for both hosts, so that they accept and refuse the same bytes with the same words. */
export async function readJsonBody(req: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(req);
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = req.headers;
  if (type === undefined && bytes.length === 0) return undefined;
  if (!JSON_TYPE.test(type ?? '')) throw new Problem(415, 'The body must be sent as application/json in UTF-8');
  if (bytes.length === 0) return undefined;
  if (encoding.toLowerCase() !== 'identity') throw new Problem(415, 'The body must be sent without Content-Encoding');
  return parse(decode(bytes));
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
    // What the parser says quotes the body, in words that differ from one version of Node to the next.
    throw new Problem(400, 'The body is not valid JSON');
  }
  if (hasProto(text, value)) throw new Problem(400, 'The body must not have a property named __proto__');
  return value;
}

/** An own property of that name becomes the prototype of whatever it is copied into. */
function hasProto(text: string, value: unknown): boolean {
  // The name can also be written with escapes, so any escape makes us look.
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
