import { ServerResponse } from 'node:http';
import { restoreFraming } from './node-internals.js';

/** The part of a response that precedes its body. */
export interface Head {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: readonly (readonly [name: string, value: number | string | string[]])[];
}

interface NamesHeaders {
  /** Missing in the types of Node 20, and on responses of HTTP/2. */
  getRawHeaderNames?(): string[];
}

export function readHead(res: ServerResponse): Head {
  const names = (res as ServerResponse & NamesHeaders).getRawHeaderNames?.() ?? res.getHeaderNames();
  const headers = names.map((name) => [name, res.getHeader(name) ?? ''] as const);
  // As Node reads it, for Express 4 passes on what is given as text.
  return { status: Math.trunc(res.statusCode), statusMessage: res.statusMessage, headers };
}

export function restoreHead(res: ServerResponse, { status, statusMessage, headers }: Head): void {
  if (!areIn(res, headers)) restoreHeaders(res, headers);
  res.statusCode = status;
  res.statusMessage = statusMessage;
}

/** Most often nobody has touched them, and to look costs less than to set them again. */
function areIn(res: ServerResponse, headers: Head['headers']): boolean {
  return (
    res.getHeaderNames().length === headers.length && headers.every(([name, value]) => res.getHeader(name) === value)
  );
}

function restoreHeaders(res: ServerResponse, headers: Head['headers']): void {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (const [name, value] of headers) res.setHeader(name, value);
}

/** What is true of one response only. */
const REPRESENTATION_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'etag',
  'expires',
  'last-modified',
  'location',
  'trailer',
  'transfer-encoding',
];

/**
 * Removes the headers that are true of one response only, to make room for another. What belongs to the connection or to every response
 * of the application stays.
 *
 * @param res - the response, of which nothing was sent
 *
 * @example
 * ```ts
 * import type { ServerResponse } from 'node:http';
 * import { clearRepresentation } from '@ambit/http/host';
 *
 * function respondWithError(res: ServerResponse): void {
 *   clearRepresentation(res); // the type, length and caching of what the handler would have sent
 *   res.writeHead(500, { 'content-type': 'text/plain' }).end('Internal error');
 * }
 * ```
 */
export function clearRepresentation(res: { removeHeader(name: string): unknown }): void {
  for (const name of REPRESENTATION_HEADERS) res.removeHeader(name);
}

/**
 * The same for the status as well. What follows is an error unless it has a status of its own. But while the rest of the
 * old response may follow, that rest must still count as part of a success.
 */
export function clearHead(res: ServerResponse, isRestToCome: boolean): void {
  clearRepresentation(res);
  restoreFraming(res);
  res.statusCode = isRestToCome ? 200 : 500;
  res.statusMessage = '';
}

export type Sender = 'end' | 'flushHeaders' | 'write' | 'writeHead';

/** What Node would refuse only when the response is sent is refused while there is still something to roll back. */
export function checkHead(res: ServerResponse, method: Exclude<Sender, 'writeHead'>, args: unknown[]): void {
  if (isPlain(res)) return;
  try {
    dryRun(res, method, args);
  } catch (error) {
    // Of an error handler's response they would be refused again.
    res.statusMessage = '';
    res.removeHeader('trailer');
    if (res.strictContentLength) res.removeHeader('content-length');
    throw error;
  }
}

/** Whatever else there may be in a head, Node has looked at by now. */
function isPlain(res: ServerResponse): boolean {
  const { statusCode, statusMessage, strictContentLength } = res;
  return statusCode >= 100 && statusCode <= 999 && !statusMessage && !strictContentLength && !res.hasHeader('trailer');
}

/** Sends the same response to nobody; throws what Node refuses. */
export function dryRun(res: ServerResponse, method: Sender, args: unknown[]): void {
  const copy = new ServerResponse(res.req);
  copy.strictContentLength = res.strictContentLength;
  restoreHead(copy, readHead(res));
  Reflect.apply(ServerResponse.prototype[method], copy, args);
}

export function checkBody(chunk: unknown): void {
  if (typeof chunk === 'string' || chunk instanceof Uint8Array) return;
  throw coded(new TypeError('The body of a response must be a string or bytes'), 'ERR_INVALID_ARG_TYPE');
}

/** As Node says it, so that nobody can tell a held response from one in progress. */
export function headersSent(): Error {
  return coded(new Error('Cannot set headers after they are sent to the client'), 'ERR_HTTP_HEADERS_SENT');
}

function coded(error: Error, code: string): Error {
  return Object.assign(error, { code });
}
